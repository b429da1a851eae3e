// Semantic Versioning 2.0.0, with an optional "v" in front.
const NUMBER = "0|[1-9][0-9]*";
const PART = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
const VERSION = new RegExp(
  `^v?(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-(${PART}(?:\\.${PART})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

export function parse(text) {
  const found = VERSION.exec(text);
  if (found === null) return null;
  const [, major, minor, patch, prerelease] = found;
  return { numbers: [major, minor, patch].map(BigInt), prerelease: prerelease ? prerelease.split(".") : [] };
}

export function compare(a, b) {
  for (let at = 0; at < 3; at += 1) {
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  }
  const [one, other] = [a.prerelease, b.prerelease];
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const order = compareParts(one[at], other[at]);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

function compareParts(a, b) {
  const [isNumber, isOtherNumber] = [/^[0-9]+$/.test(a), /^[0-9]+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  const [left, right] = isNumber ? [BigInt(a), BigInt(b)] : [a, b];
  return left < right ? -1 : left > right ? 1 : 0;
}
