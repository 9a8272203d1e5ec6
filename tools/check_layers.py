#!/usr/bin/env python3
"""Checks that the tree is the architecture.

Layers: a module includes only what it may use, and a room of the control core only the rooms that it may.
Purity: the cores do no I/O, read no clock, draw no chance, start no thread and depend on no hash order.
Borders: an outside library is included in one place only. Names: no two headers define a type of one name in one namespace, which the linker would take for one.
Prints file:line for each offence; exit 1 if there is any.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MAY_USE = {
    "base": set(),
    "model": {"base"},
    "placement": {"base", "model"},
    "control": {"base", "model", "placement"},
    "agent": {"base", "model"},
    "codec": {"base", "model", "placement"},
    "store": {"base"},
    "shell": {"base", "codec", "store"},
    "trust": {"base"},
    "runtime": {"base", "model", "codec"},
    "network": {"base", "model", "shell", "runtime"},
    "session": {"base", "model", "codec", "shell", "runtime", "network"},
    "link": {"base", "model", "codec", "shell", "trust"},
    "controld": {"base", "model", "placement", "control", "codec", "store", "shell", "trust", "link"},
    "agentd": {"base", "model", "agent", "codec", "store", "shell", "trust", "runtime", "network", "session", "link"},
    "client": {"base", "model", "codec", "trust"},
    "cli": {"base", "model", "placement", "codec", "store", "client", "trust"},
    "sim": {"base", "model", "placement", "control", "agent", "codec", "store", "controld", "agentd"},
}

# Rooms of the control core: whose headers each may include beside those of src/control itself. A room that is not
# listed yet has no place; nor may rooms need each other in a circle.
ROOM_MAY_USE = {
    "rollout": set(),
    "documents": set(),
    "cluster": {"rollout"},
    "network": {"cluster"},
    "lifetime": {"documents"},
    "statuses": {"rollout"},
    "calls": {"documents", "rollout"},
    "launcher": {"calls", "cluster", "rollout"},
    "orders": {"cluster", "documents", "launcher", "rollout"},
    "hold": {"network", "rollout"},
    "reports": {"cluster", "hold", "rollout"},
    "session": {"orders"},
}


def room_circle():
    """A room that needs itself by way of others; None if there is none."""
    def needs(room, seen):
        return {room} if room in seen else {room}.union(*(needs(n, seen | {room}) for n in ROOM_MAY_USE[room]), set())
    for room, used in ROOM_MAY_USE.items():
        if any(room in needs(each, set()) for each in used):
            return room
    return None


PURE = {"model", "placement", "control", "agent"}
# The simulator has its own time and chance: what it draws must come from the seed.
SEEDED = PURE | {"sim"}

IMPURE = [
    (PURE, r"#include <(thread|mutex|atomic|future|condition_variable|stop_token)>", "threads"),
    (PURE, r"#include <(fstream|iostream|filesystem|cstdio|unistd\.h|sys/.*|fcntl\.h)>", "I/O"),
    (SEEDED, r"\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b", "a clock"),
    (SEEDED, r"#include <(random|ctime|time\.h)>|\b(std::)?s?rand\(|random_device", "chance or a clock"),
    (SEEDED, r"\bstd::unordered_|#include <unordered_", "hash order"),
    (PURE, r"\bgetenv\(|\bstd::c(out|err|in)\b|\bprintf\(", "the environment or I/O"),
]

BORDERS = [
    (r"#include <yaml\.h>", {"src/codec/yaml_reader.cc"}),
    (r"#include <nlohmann/", {"src/codec/", "src/cli/", "src/trust/join", "tests/", "bench/"}),
    (r"#include <CLI/", {"src/cli/", "apps/"}),
    (r"#include <sqlite3\.h>", {"src/store/sqlite/"}),
    (r"#include <openssl/", {"src/trust/"}),
    (r"#include <grpc", {"src/link/", "src/controld/", "tests/", "bench/"}),
    (r"#include <boost/", {"src/controld/", "src/client/"}),
    (r"#include <berth/v1/|#include \"berth/v1/", {"src/codec/", "src/link/", "src/controld/", "src/agentd/", "src/client/", "src/cli/", "tests/", "bench/"}),
    (r"#include <(gtest|gmock)/", {"_test.cc", "/testing", "/conformance.h", "tests/"}),
]


def sources():
    for top in ("src", "apps", "tests", "bench"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path


def offences(path: Path):
    name = path.relative_to(ROOT).as_posix()
    module = name.split("/")[1] if name.startswith("src/") else None
    is_test = name.endswith("_test.cc") or "/testing" in name or name.endswith("conformance.h")
    if module is not None and module not in MAY_USE:
        yield 1, f"module {module} has no place in the layers"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'#include "(\w+)/', line)
        if module and include and include[1] not in (module, "berth") and include[1] not in MAY_USE[module]:
            yield number, f"{module} may not use {include[1]}"
        for modules, pattern, what in IMPURE:
            if module in modules and not is_test and re.search(pattern, line):
                yield number, f"{module} must not know {what}"
        for pattern, places in BORDERS:
            if re.search(pattern, line) and not any(place in name for place in places):
                yield number, f"{line.strip()} belongs to {', '.join(sorted(places))}"


def room_offences(path: Path):
    inside = re.match(r"src/control/(\w+)/", path.relative_to(ROOT).as_posix())
    if inside is None or inside[1] == "testing" or path.name.endswith("_test.cc"):
        return
    room = inside[1]
    if room not in ROOM_MAY_USE:
        yield 1, f"room {room} has no place in the core"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'#include "control/(\w+)/', line)
        if include and include[1] != room and include[1] not in ROOM_MAY_USE[room]:
            yield number, f"room {room} may not use {include[1]}"


def types_of(path: Path):
    """(line, namespace::name) of each type that a header defines, but for specializations."""
    namespace, before = "", ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if opened := re.match(r"namespace ([\w:]+) \{", line):
            namespace = opened[1]
        defined = re.match(r"(?:struct|class|enum class|enum) (\w+)[^;<]*\{", line)
        if defined and not before.startswith("template <>"):
            yield number, f"{namespace}::{defined[1]}"
        before = line


def defined_twice(paths):
    first = {}
    for path in (path for path in paths if path.suffix == ".h"):
        for number, name in types_of(path):
            if name in first:
                yield path, number, f"{name} is also defined in {first[name].relative_to(ROOT)}"
            first.setdefault(name, path)


def all_offences():
    paths = list(sources())
    for path in paths:
        yield from ((path, number, what) for number, what in offences(path))
        yield from ((path, number, what) for number, what in room_offences(path))
    yield from defined_twice(paths)


def main() -> int:
    count = 0
    for path, number, what in all_offences():
        print(f"{path.relative_to(ROOT)}:{number}: {what}")
        count += 1
    if (room := room_circle()) is not None:
        print(f"tools/check_layers.py: room {room} needs itself by way of others")
        count += 1
    print(f"{count} offences" if count else "the tree is the architecture")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
