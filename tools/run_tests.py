#!/usr/bin/env python3
"""Builds and runs all tests of Berth; called by ./test.

Every suite is one program. gtest programs and system tests count each of their tests; any other program
counts as one.
A suite that passed is not run again while its program and its data are unchanged (--fresh runs it).
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "test-cache"


@dataclass
class Suite:
    name: str
    command: list[str]
    inputs: list[Path] = field(default_factory=list)  # beside the program: what the result depends on
    kind: str = "program"  # or "gtest", "system"
    alone: bool = False  # uses both cores itself


@dataclass
class Outcome:
    suite: Suite
    passed: int
    failed: int
    seconds: float
    output: str = ""
    cached: bool = False


def files_under(path: Path):
    return sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts) if path.is_dir() else [path]


def digest(suite: Suite) -> str:
    sha = hashlib.sha256(json.dumps([str(c) for c in suite.command]).encode())
    program = Path(suite.command[0])
    for path in [program, *suite.inputs]:
        for file in files_under(path) if path.exists() else []:
            sha.update(str(file).encode() + b"\0" + file.read_bytes())
    return sha.hexdigest()


def count_system(output: str, code: int) -> tuple[int, int]:
    """A system test's last line says how it went."""
    try:
        report = json.loads(output.strip().splitlines()[-1])
        failed = max(report["failed"], code)
        return report["tests"] - report["failed"] - report["skipped"], failed
    except (IndexError, ValueError, KeyError, TypeError):
        return (0, 1)


def count(suite: Suite, result: Path, code: int, output: str) -> tuple[int, int]:
    if suite.kind == "system":
        return count_system(output, code)
    if suite.kind == "program":
        return (1, 0) if code == 0 else (0, 1)
    try:
        report = json.loads(result.read_text())
        failed = report["failures"] + report["errors"]
        total = report["tests"] - report.get("disabled", 0)
        # A program that dies after its last test has not passed.
        return (total - failed, failed) if failed or code == 0 else (total, 1)
    except (OSError, ValueError):
        return (0, 1)


def run(suite: Suite, fresh: bool) -> Outcome:
    key = digest(suite)
    cache = CACHE / suite.name
    if not fresh and cache.exists():
        known = json.loads(cache.read_text())
        if known["digest"] == key:
            return Outcome(suite, known["passed"], 0, 0, cached=True)
    result = CACHE / (suite.name + ".gtest.json")
    result.unlink(missing_ok=True)
    command = list(suite.command)
    if suite.kind == "gtest":
        command.append(f"--gtest_output=json:{result}")
    start = time.monotonic()
    process = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, errors="replace", check=False,
                             env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1",
                                  "LSAN_OPTIONS": f"suppressions={ROOT}/tools/lsan.supp:print_suppressions=0",
                                  "TSAN_OPTIONS": f"suppressions={ROOT}/tools/tsan.supp:"
                                                  "ignore_noninstrumented_modules=1"})
    passed, failed = count(suite, result, process.returncode, process.stdout)
    if failed == 0:
        cache.write_text(json.dumps({"digest": key, "passed": passed}))
    return Outcome(suite, passed, failed, time.monotonic() - start, process.stdout)


def build(preset: str, *targets: str):
    start = time.monotonic()
    print(f"building {preset} ...", flush=True)
    subprocess.run([ROOT / "tools" / "build.sh", preset, *targets], cwd=ROOT, check=True)
    print(f"built {preset} in {time.monotonic() - start:.0f} s", flush=True)


def telling_lines(suite: Suite, output: str) -> list[str]:
    """Of a gtest program only what its failed tests printed; of any other all."""
    lines = output.splitlines()
    if suite.kind != "gtest":
        return lines
    kept, block = [], []
    for line in lines:
        block = [line] if line.startswith("[ RUN ") else [*block, line]
        if line.startswith("[       OK ] "):
            block = []
        elif line.startswith("[  FAILED  ] "):
            kept, block = kept + block, []
    return kept + block  # the rest: what a program that died printed last


def show_failure(outcome: Outcome):
    lines = telling_lines(outcome.suite, outcome.output)
    if len(lines) > 120:
        lines = lines[:40] + [f"... {len(lines) - 120} lines left out ..."] + lines[-80:]
    print("\n".join(lines), flush=True)


def show(outcome: Outcome):
    verdict = "ok" if outcome.failed == 0 else "FAILED"
    seconds = "unchanged, passed before" if outcome.cached else f"{outcome.seconds:.1f} s"
    print(f"  {verdict:6} {outcome.suite.name:28} {outcome.passed:5} passed {outcome.failed:3} failed"
          f"  ({seconds})", flush=True)
    if outcome.failed:
        show_failure(outcome)


def sanitized_preset(everything: bool) -> str:
    """The checks of every pointer cost a third of the time of compiling: see docs/adr/0046."""
    return "strict" if everything else "dev"


def gtest_suites(preset: str) -> list[Suite]:
    data = [ROOT / "tests" / "scenarios", ROOT / "examples"]
    names = (ROOT / "build" / preset / "tests.txt").read_text().split()
    # The longest first, so that both cores are busy until the end.
    names.sort(key=lambda name: name not in ("sim_test", "control_test", "agent_test"))
    return [Suite(f"{name}", [str(ROOT / "build" / preset / "bin" / name)], data, kind="gtest")
            for name in names]


def system_suites() -> list[Suite]:
    """With the real programs, one after the other: they have clocks."""
    tests = ROOT / "tests" / "system"
    inputs = [ROOT / "build" / "release" / "bin", tests, ROOT / "tools" / "unit.py", ROOT / "tools" / "demo.py",
              ROOT / "examples"]
    return [Suite(f"system_{path.stem.removesuffix('_test')}", [str(path)], inputs, kind="system", alone=True)
            for path in sorted(tests.glob("*_test.py"))]


THREADED = ["shell_test", "runtime_test", "network_test", "link_test", "controld_test", "agentd_test"]


def thread_suites() -> list[Suite]:
    """The modules that have threads, under the thread sanitizer."""
    return [Suite(f"tsan_{name}", [str(ROOT / "build" / "tsan" / "bin" / name)], [ROOT / "tools" / "tsan.supp"],
                  kind="gtest", alone=True) for name in THREADED]


def script_suites(everything: bool) -> list[Suite]:
    tools, source = ROOT / "tools", ROOT / "src"
    suites = [
        Suite("layers_and_purity", [str(tools / "check_layers.py")], [source, ROOT / "apps"]),
        Suite("format", [str(tools / "check_format.sh")],
              [source, ROOT / "apps", ROOT / "bench", ROOT / "tests", ROOT / ".clang-format"]),
        Suite("planted_placement_faults", [str(tools / "mutate_placement.py"), "--build",
                                           str(ROOT / "build" / sanitized_preset(everything))],
              [source / "placement", ROOT / "tests" / "scenarios"], alone=True),
    ]
    if everything:
        suites.append(Suite("clang_tidy", [str(tools / "check_tidy.sh")], [source, ROOT / "apps"], alone=True))
    return suites


def simulation_suites(everything: bool) -> list[Suite]:
    """Two halves, one for each core."""
    seeds = 2500 if everything else 250
    program = ROOT / "build" / "release" / "bin" / "berth-sim"
    once_failed = ROOT / "tests" / "simulation" / "once_failed.txt"
    sessions_failed = ROOT / "tests" / "simulation" / "sessions_once_failed.txt"
    return [Suite(f"simulation_seeds_{first}_to_{first + seeds - 1}",
                  [str(program), "--seed", str(first), "--seeds", str(seeds), "-q"])
            for first in (1, 1 + seeds)] + [
        Suite("simulation_seeds_that_failed_once",
              [str(program), "--list", str(once_failed), "-q", "--faults",
               "loss,delay,duplicate,reorder,partition,crash,disk,runtime,readiness"], [once_failed]),
        # What newer seeds have found needs the faults that were added since.
        Suite("simulation_seeds_that_failed_once_with_all_faults",
              [str(program), "--list", str(once_failed), "-q", "--faults", "all"], [once_failed]),
        Suite("simulation_seeds_of_sessions_that_failed_once",
              [str(program), "--list", str(sessions_failed), "-q", "--sessions"], [sessions_failed]),
        Suite("simulation_flapping_runtimes", [str(program), "--flapping", "--minutes", "10000", "-q"])]


def fuzz_suites(everything: bool) -> list[Suite]:
    runs = "5000000" if everything else "100000"
    corpus = ROOT / "tests" / "fuzz" / "corpus"
    suites = []
    for name in ("manifest_fuzz", "record_fuzz", "wire_fuzz"):
        seeds = corpus / name.removesuffix("_fuzz")
        command = [str(ROOT / "build" / "fuzz" / "bin" / name), f"-runs={runs}", "-seed=1",
                   "-max_len=4096", "-timeout=20", "-rss_limit_mb=4096"]
        dictionary = ROOT / "tests" / "fuzz" / "manifest.dict"
        if name == "manifest_fuzz" and dictionary.exists():
            command.append(f"-dict={dictionary}")
        if seeds.is_dir():
            found = CACHE / f"{name}.corpus"  # new finds go here, never into the repository
            found.mkdir(parents=True, exist_ok=True)
            command += [str(found), str(seeds)]
        suites.append(Suite(name, command, [seeds, dictionary]))
    return suites


def run_all(suites: list[Suite], fresh: bool) -> list[Outcome]:
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        together = [pool.submit(run, suite, fresh) for suite in suites if not suite.alone]
        for done in concurrent.futures.as_completed(together):
            outcomes.append(done.result())
            show(outcomes[-1])
    for suite in suites:
        if suite.alone:
            outcomes.append(run(suite, fresh))
            show(outcomes[-1])
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(prog="./test", description=__doc__)
    parser.add_argument("--all", action="store_true", help="also what is slow: long fuzzing, more seeds, every check of undefined "
                                                          "behaviour, threads, clang-tidy")
    parser.add_argument("--fresh", action="store_true", help="run again what has passed before")
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    sanitized = sanitized_preset(arguments.all)
    try:
        build("release", "programs")
        build(sanitized)
        build("fuzz", "fuzzers")
        if arguments.all:
            build("tsan", *THREADED)
    except subprocess.CalledProcessError:
        print("0 passed, 1 failed")
        return 1
    suites = (simulation_suites(arguments.all) + gtest_suites(sanitized) + fuzz_suites(arguments.all)
              + script_suites(arguments.all) + system_suites() + (thread_suites() if arguments.all else []))
    outcomes = run_all(suites, arguments.fresh)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    broken = [outcome.suite.name for outcome in outcomes if outcome.failed]
    for outcome in outcomes:
        if outcome.failed:  # once more, where it is read first
            print(f"\n{outcome.suite.name}:", *telling_lines(outcome.suite, outcome.output)[-30:], sep="\n")
    print(f"{time.monotonic() - start:.0f} s" + (f"; failed: {', '.join(broken)}" if broken else ""))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
