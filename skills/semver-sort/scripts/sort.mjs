// One JSON object on standard input, one on standard output. Needs nothing but Node.js.
import { readFileSync } from "node:fs";
import { compare, parse } from "./semver.mjs";

const { versions } = JSON.parse(readFileSync(0, "utf8"));
const read = versions.map((text) => ({ text, version: parse(text) }));
const good = read.filter((entry) => entry.version !== null);
// Array.prototype.sort is stable, so equal versions keep their order.
good.sort((a, b) => compare(a.version, b.version));
const releases = good.filter((entry) => entry.version.prerelease.length === 0);
const answer = {
  sorted: good.map((entry) => entry.text),
  newest: releases.length > 0 ? releases[releases.length - 1].text : null,
  refused: read.filter((entry) => entry.version === null).map((entry) => entry.text),
};
process.stdout.write(JSON.stringify(answer) + "\n");
