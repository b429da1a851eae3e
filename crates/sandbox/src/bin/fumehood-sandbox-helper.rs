//! A launcher and an attacker for the tests, which cannot be either themselves. Started by hand, it tries the attacks
//! that are named, or all.

use std::process::ExitCode;

use fumehood_sandbox::prove::{Proof, Verdict, attacks, prove_one};
use fumehood_sandbox::{Sandbox, helper};

fn main() -> ExitCode {
    helper::dispatch();
    let named: Vec<String> = std::env::args().skip(1).collect();
    let (Ok(program), Ok(sandbox)) = (std::env::current_exe(), Sandbox::start()) else {
        eprintln!("no sandbox here");
        return ExitCode::FAILURE;
    };
    let mut broken = 0;
    for attack in
        attacks().iter().filter(|attack| named.is_empty() || named.iter().any(|name| name == attack.name))
    {
        let proof = prove_one(&sandbox, &program, attack);
        broken += u32::from(matches!(proof.verdict, Verdict::Broken(_)));
        print(&proof);
    }
    println!("{} attacks, {broken} broken", attacks().len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(Proof { attack, verdict, outside, inside }: &Proof) {
    let verdict = match verdict {
        Verdict::Held => "held".to_owned(),
        Verdict::Broken(why) => format!("BROKEN {why}"),
        Verdict::NotRun(why) => format!("not enforced, not run: {why}"),
    };
    println!("{}: {verdict}\n  outside: {outside}\n  inside: {inside}", attack.name);
}
