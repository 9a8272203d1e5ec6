#!/usr/bin/env python3
"""Plants faults in the placement engine, one at a time, and demands that a scenario notices each.

The source tree is not touched: a mutant is one changed file in a temporary directory, compiled alone and
linked with the objects of the other files, which are compiled once and kept in build/mutate. All else is of
the build of ./test if there is one (--build), else of a small one in build/mutate. Exit 1 if a mutant survives.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEMENT = ROOT / "src" / "placement"
SUITE = "scenario_test"
LIBRARY = "src/placement/libberth_placement.a"
RUN_SECONDS_MAX = 60
RUN_CPU_SECONDS_MAX = 10  # without a fault it takes less than one

OVERLAY = """cmake_minimum_required(VERSION 3.25)
project(berth LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
include(toolchain)
include(sanitizers)
include(dependencies)
include(module)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
foreach(directory src/base src/model src/placement proto src/codec tests/scenarios)
  add_subdirectory(${directory})
endforeach()
"""


@dataclass
class Mutant:
    name: str
    file: str
    pattern: str  # a regular expression that must match exactly once
    replacement: str = ""

    def text(self) -> str:
        source = (PLACEMENT / self.file).read_text()
        mutated, count = re.subn(self.pattern, lambda _: self.replacement, source, flags=re.DOTALL)
        if count != 1:
            raise LookupError(f"{self.name}: {count} places in {self.file} match {self.pattern}")
        return mutated


def code(text: str) -> str:
    """A pattern for this code, however it is broken into lines."""
    return r"\s+".join(re.escape(word) for word in text.split())


def swap(name: str, file: str, old: str, new: str = "") -> Mutant:
    return Mutant(name, file, code(old), new)


RULES = ["connected", "usable", "node_id", "labels", "shared_resources", "runtime_type", "platform",
         "readiness", "cpu", "ram", "storage", "state", "instance_count", "threshold"]
CRITERIA = ["Cpu", "Ram", "NodeName", "TypeOrder", "RuntimeName"]

DISPLACE = "rounds/displace_round.cc"
KEEP = "rounds/keep_round.cc"
RELIEVE = "rounds/relieve_round.cc"
STAYING = "staying.cc"


def mutants() -> list[Mutant]:
    result = [Mutant(f"rule {rule} removed", "rules/rules.cc", rf"&{rule}_rule,") for rule in RULES]
    result.append(swap("top priority removed", "pipeline.cc", "keep_top_priority(candidates);"))
    result += [Mutant(f"best fit without {criterion}", "rules/best_fit_rule.cc",
                      rf"Criterion\{{Preference::{criterion},.*?\}}\}},\n") for criterion in CRITERIA]
    result += [
        swap("keep round removed", "plan.cc", "RequestList rest = keep_round(board);",
             "RequestList rest = all_requests(board);"),
        swap("place round removed", "plan.cc",
             "const RequestList displaced = displace_round(board, place_round(board, rest));",
             "const RequestList displaced = displace_round(board, rest);"),
        swap("displace round removed", "plan.cc",
             "const RequestList displaced = displace_round(board, place_round(board, rest));",
             "place_round(board, rest); const RequestList displaced;"),
        swap("the displaced have no turn of their own", "plan.cc", "settle(board, displaced);"),
        swap("refused ones are not looked at again", "plan.cc",
             "return !displaced.empty() || keep_again(board);", "return displaced.empty() && keep_again(board);"),
        swap("what is left alone is not looked at again", "plan.cc",
             "return !displaced.empty() || keep_again(board);", "return !displaced.empty();"),
        swap("what is kept again takes room that is not there", KEEP,
             "for (const std::size_t position : lost_) board_.unseat(position);"),
        Mutant("reasons of the first look", "rounds/place_round.cc",
               r"refused\.push_back\(request\);.*board\.refuse\(i\);",
               "board.refuse(request); refused.push_back(request); } return refused; }"
               "void refuse_round(Board& board) { for (std::size_t i = 0; i < board.requests().size(); ++i) {"
               "if (is_without_place(board.seat(i)) && !board.seat(i).rejection) board.refuse(i);"),
        swap("reasons of the first round", KEEP, "judge_left_alone(board);"),
        swap("what its equals left is taken", DISPLACE,
             "if (priority(request) >= priority(newcomer_)) room.reserve(held);"),
        swap("policy pass removed", "plan.cc", "place_round(board, policy_pass(board))",
             "place_round(board, all_requests(board))"),
        swap("replan keeps", "plan.cc", "case Mode::Replan: place_round(board, all_requests(board)); break;",
             "case Mode::Replan: run(board); break;"),
        swap("order without priority", "ask.cc",
             "if (a.priority != b.priority) return a.priority > b.priority;"),
        swap("order without key", "ask.cc", "return a.key < b.key;", "return false;"),
        swap("capacity not relieved", "ledger.cc",
             "account.capacity = relieved_capacity(account.capacity, node.settings.thresholds);"),
        swap("measured amounts ignored", "pipeline.cc",
             "return raised_to_measured(asked, item, request.present->measured);", "return asked;"),
        swap("measured amounts everywhere", "pipeline.cc",
             "measuring_ == Measuring::WhereOverloaded && view.overloaded.any()",
             "measuring_ == Measuring::WhereOverloaded"),
        swap("all rules judge what runs", "pipeline.cc",
             "return purpose == Purpose::Place || rule.strictest == Purpose::Keep;", "return true;"),
        swap("system cpu counts in the keep round", "ledger.cc",
             "return system == SystemUsage::Counted ? left - account.system.cpu : left;",
             "return left - account.system.cpu;"),
        swap("system ram counts in the keep round", "ledger.cc",
             "return system == SystemUsage::Counted ? left - account.system.ram : left;",
             "return left - account.system.ram;"),
        swap("system usage never counts", "snapshot.cc", "if (!node.usage) return {};", "return {};"),
        swap("pinned ones go elsewhere", KEEP, "if (!is_left_alone(request)) return false;",
             "return false;"),
        swap("drain ignored", KEEP,
             "if (drain_of(board, request) != Drain::No) continue;"),
        swap("a drain takes components", STAYING,
             "if (request.item->type == model::ItemType::Component) return Drain::No;"),
        swap("a drain does finished work again", STAYING,
             "if (has_finished(request) || node == nullptr) return Drain::No;",
             "if (node == nullptr) return Drain::No;"),
        swap("nothing stays on a drained node", "plan.cc", "stay_round(board);"),
        swap("pinned ones lose their room", "board.cc",
             "seat.holding = present_holding(request); cluster_.reserve(*seat.holding);"),
        swap("pinned ones hold the new version's room", "board.cc",
             "asked.present_item ? *asked.present_item : *asked.item", "*asked.item"),
        swap("equal priority is displaced", DISPLACE, "request.priority >= newcomer().priority",
             "request.priority > newcomer().priority"),
        swap("pinned ones are displaced", DISPLACE,
             "&& !is_pinned(board_.requests()[position]);", ";"),
        swap("victims in scheduling order", DISPLACE,
             "auto it = displaceable.rbegin(); it != displaceable.rend()",
             "auto it = displaceable.begin(); it != displaceable.end()"),
        swap("victims that do not help", DISPLACE, "if (!helps) { room.reserve(held); continue; }"),
        swap("victims on the same node only", DISPLACE,
             "board_.ledger().same_partition(board_.seat(position).holding->node, choice.slot.node)",
             "board_.seat(position).holding->node == choice.slot.node"),
        swap("the displaced in order of displacement", DISPLACE, "std::ranges::sort(next);"),
        swap("request above its quota", "asked.cc",
             "return wish.quota ? std::min(*wish.request, *wish.quota) : *wish.request;",
             "return *wish.request;"),
        swap("ratio ignored", "asked.cc", "wish.ratio.value_or(kDefaultRatio)", "kDefaultRatio"),
        swap("default request ignored", "asked.cc",
             "if (wish.default_percent) return percent_rounded_half_up(wish.capacity, *wish.default_percent);"),
        swap("skipped limits count", "asked.cc",
             "return item.skip_resource_limits || item.type == model::ItemType::Component;",
             "return item.type == model::ItemType::Component;"),
        swap("components ask", "asked.cc",
             "return item.skip_resource_limits || item.type == model::ItemType::Component;",
             "return item.skip_resource_limits;"),
        swap("a cap of 0 is a cap", "ledger.cc", "if (cap == Q{}) return std::nullopt;"),
        swap("a count of 0 is none", "ledger.cc", "if (found->second.count == 0) return std::nullopt;"),
        swap("unitWide partitions apart", "ledger.cc", "if (size.unit_wide && unit_wide_) return *unit_wide_;"),
        swap("state does not count on the same partition", "ledger.cc",
             "return partition.size.same_partition ? left - partition.state : left;", "return left;"),
        swap("the last of equal images", "pipeline.cc", "rejection.reason > furthest_image->reason",
             "rejection.reason >= furthest_image->reason"),
        swap("figures of any runtime", "pipeline.cc",
             "return a.shortfall.has.value_or(0) > b.shortfall.has.value_or(0);", "return false;"),
        swap("indices of vanished runtimes are reused", "ask.cc",
             "taken.insert(key.index); if (places.contains(place)) indices.emplace(place, key.index);",
             "if (places.contains(place)) { taken.insert(key.index); indices.emplace(place, key.index); }"),
        swap("above max means at max", "thresholds.cc",
             "above_percent(usage.cpu, capacity.cpu, cpu->max)",
             "!above_percent(capacity.cpu, usage.cpu, 10000 / cpu->max)"),
        swap("nobody is relieved", "plan.cc", "if (board.options().mode == Mode::RebalanceMinimal) relieve_round(board);"),
        swap("pinned ones are relieved", RELIEVE, "&& !is_pinned(asked);", ";"),
        swap("all priority classes at once", RELIEVE, "if (!class_ends) continue;",
             "if (end != placeable.size()) continue;"),
        swap("the worst node has no first choice", RELIEVE,
             "if (b.first < a.first) return true; if (a.first < b.first) return false;"),
        swap("relief goes by what is asked", "board.cc", "measuring_ = Measuring::Everywhere;"),
        swap("any resource must be relieved", RELIEVE, "view.overloaded.ram ? std::max(over.ram, Bytes{}) : Bytes{}",
             "std::max(over.ram, Bytes{})"),
        swap("overloaded nodes take in", "rules/threshold_rule.cc",
             "if (node.overloaded.any()) return Shortfall{};"),
        swap("many small ones", "relief_search.cc", "aim_at(fewest_that_may_do());", "aim_at(movers_.size());"),
    ]
    return result


class Build:
    """A CMake build that has the scenario tests. Its library of the engine is replaced by objects of our own, which
    are fast to compile: neither optimised nor instrumented, which mixes with the other libraries all the same."""

    def __init__(self, directory: Path, jobs: int):
        self.directory = directory
        self.own = ROOT / "build" / "mutate" / "placement"
        subprocess.run(["ninja", "-C", directory, SUITE], check=True, stdout=subprocess.DEVNULL)
        commands = subprocess.run(["ninja", "-C", directory, "-t", "commands", SUITE], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        self.link = commands[-1]
        self.compile = [*self.flags(), "-include", str(self.own / "common.h")]
        self.objects = self.make_originals(jobs)

    def flags(self) -> list[str]:
        """The compiler and what it is told of any file of the engine, less what takes time."""
        words = next(shlex.split(entry["command"])
                     for entry in json.loads((self.directory / "compile_commands.json").read_text())
                     if "/berth_placement.dir/" in entry["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")) - 1:words.index("-o")]
        return [*(word for word in words if not re.match(r"-(f(no-)?sanitize|O|g|W|std=)", word)),
                "-std=c++20", "-O0", "-w"]

    def make_originals(self, jobs: int) -> dict[str, Path]:
        """An object of each file that has mutants, and one of all others together. They are kept, and made again
        when something they are made of has changed."""
        self.own.mkdir(parents=True, exist_ok=True)
        headers = [path for path in PLACEMENT.rglob("*.h") if not path.name.startswith("testing")]
        # What most files include, which is parsed once: the greater part of the time of compiling one of them.
        write_if_new(self.own / "common.h", "#include <algorithm>\n#include <fmt/format.h>\n" + includes(headers))
        with_mutants = {PLACEMENT / mutant.file for mutant in mutants()}
        others = {path for path in PLACEMENT.rglob("*.cc")
                  if not path.name.endswith("_test.cc") and "testing" not in path.parts} - with_mutants
        write_if_new(self.own / "others.cc", includes(others))

        sources = {str(path.relative_to(PLACEMENT)): path for path in with_mutants}
        sources["others.cc"] = self.own / "others.cc"
        objects = {name: self.own / f"{name}.o" for name in sorted(sources)}
        rule = "  depfile = $out.d\n  deps = gcc\n  command = "
        lines = [f"rule parse\n{rule}{shlex.join(self.flags())} -MMD -MF $out.d -x c++-header -o $out -c $in",
                 f"rule compile\n{rule}{shlex.join(self.compile)} -MMD -MF $out.d -o $out -c $in",
                 "build common.h.gch: parse common.h",
                 *(f"build {name}.o: compile {sources[name]} | common.h.gch" for name in objects)]
        write_if_new(self.own / "build.ninja", "\n".join(lines) + "\n")
        self.run(["ninja", "-C", str(self.own), "-j", str(jobs)])
        return objects

    def make(self, mutant: Mutant | None, scratch: Path) -> Path:
        """The program with this fault, or without any."""
        objects = dict(self.objects)
        if mutant:
            source = scratch / "mutant.cc"
            source.write_text(mutant.text())
            objects[mutant.file] = scratch / "mutant.o"
            self.run([*self.compile, "-o", str(objects[mutant.file]), "-c", str(source)])
        linked, command = scratch / SUITE, self.link
        for old, new in ((f"-o bin/{SUITE} ", f"-o {linked} "),
                         (f" {LIBRARY} ", f" {shlex.join(map(str, objects.values()))} ")):
            if command.count(old) != 1:
                raise RuntimeError(f"the command that links has not one \"{old}\": {command}")
            command = command.replace(old, new)
        self.run(["sh", "-c", command])
        return linked

    def run(self, command: list[str]):
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)


def includes(paths: Iterable[Path]) -> str:
    return "".join(f'#include "{path.relative_to(ROOT / "src")}"\n' for path in sorted(paths))


def write_if_new(path: Path, text: str):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def own_build() -> Path:
    tree, directory = ROOT / "build" / "mutate" / "tree", ROOT / "build" / "mutate" / "build"
    tree.mkdir(parents=True, exist_ok=True)
    (tree / "CMakeLists.txt").write_text(OVERLAY)
    for name in ("src", "proto", "tests", "cmake"):
        if not (tree / name).exists():
            (tree / name).symlink_to(ROOT / name)
    subprocess.run(["cmake", "-S", tree, "-B", directory, "-G", "Ninja"], check=True, stdout=subprocess.DEVNULL)
    return directory


def first_failure(program: Path, cwd: Path) -> str | None:
    """The first scenario that fails, None if all pass."""
    environment = {key: value for key, value in os.environ.items() if key != "BERTH_REWRITE"}
    try:
        done = subprocess.run(["sh", "-c", f'ulimit -t {RUN_CPU_SECONDS_MAX} && exec "$0" --gtest_fail_fast', program],
                              cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False,
                              timeout=RUN_SECONDS_MAX, env=environment)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return "it does not end"
    failed = re.findall(r"\[  FAILED  \] \w+\.(\w+)", done.stdout)
    started = re.findall(r"\[ RUN      \] \w+\.(\w+)", done.stdout)
    return (failed[:1] or started[-1:] or ["the start"])[0]


def try_out(build: Build, mutant: Mutant | None) -> str | None:
    with tempfile.TemporaryDirectory(prefix="berth-mutant-") as scratch:
        return first_failure(build.make(mutant, Path(scratch)), build.directory)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="a CMake build directory to link against")
    parser.add_argument("--only", default="", help="only mutants whose name contains this")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()

    start = time.monotonic()
    shared = ROOT / "build" / "dev"
    directory = arguments.build or (shared if (shared / "build.ninja").exists() else own_build())
    build = Build(directory.resolve(), arguments.jobs)
    if failed := try_out(build, None):
        print(f"without any fault, {failed} fails already")
        return 1

    chosen = [mutant for mutant in mutants() if arguments.only in mutant.name]
    survivors, broken, done = [], [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        pending = {pool.submit(try_out, build, mutant): mutant for mutant in chosen}
        for future in concurrent.futures.as_completed(pending):
            mutant, done = pending[future], done + 1
            try:
                noticed_by = future.result()
                verdict = f"noticed by {noticed_by}" if noticed_by else "SURVIVED"
                if not noticed_by:
                    survivors.append(mutant.name)
            except (RuntimeError, LookupError) as error:
                verdict = f"COULD NOT BE MADE\n{error}"
                broken.append(mutant.name)
            print(f"[{done:2}/{len(chosen)}] {mutant.name}: {verdict}", flush=True)

    killed = len(chosen) - len(survivors) - len(broken)
    print(f"{len(chosen)} mutants, {killed} killed ({time.monotonic() - start:.0f} s)")
    return 1 if survivors or broken or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
