"""What the lint tests share: the tree, the order of the folders, and the closing line."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A folder of src includes only folders above it; `membership` is what its views make visible to router.
ALLOWED = {
    "base": set(),
    "wire": {"base"},
    "membership": {"base", "wire"},
    "ring": {"base"},
    "kv": {"base", "ring"},
    "router": {"base", "wire", "membership", "ring", "kv"},
    "engine": {"base", "kv"},
    "openai": {"base"},
    "resp": {"base"},
    "gateway": {"base", "wire", "membership", "ring", "kv", "router", "engine", "openai"},
    "loadgen": {"base", "openai"},
    "node": {"base", "wire", "membership", "ring", "kv", "router", "engine", "openai", "gateway"},
    "model": {"base", "kv", "engine"},
    "io": {"base", "wire", "membership", "ring", "kv", "router", "engine", "openai", "resp", "gateway", "node"},
    "app": {"base", "wire", "membership", "ring", "kv", "router", "engine", "openai", "resp", "gateway", "loadgen", "node", "model", "io"},
}
# The folders of src/app, in the same manner; none of them sees what stands in src/app itself.
APP = {
    "shared": set(),
    "replica": {"shared"},
    "kv": {"shared", "replica"},
    "builtin": {"shared", "replica", "kv"},
    "attach": {"shared", "replica"},
    "resp": {"shared", "replica", "kv"},
    "access": {"shared", "replica"},
    "admin": {"shared", "replica", "kv", "resp", "access"},
    "gateway": {"shared", "replica", "kv", "attach", "resp", "access", "admin"},
    "config": {"shared", "replica", "kv", "attach", "resp", "access", "admin", "gateway"},
    "loadgen": {"shared"},
}
# Machines of src/io that have no socket and no clock: they reach no more than a core does.
SANS_IO = tuple(f"src/io/link/{name}.cc" for name in ("machine", "lanes", "keep_alive", "inbound_streams", "outbound_streams"))
CORES = ("base", "wire", "membership", "ring", "kv", "router", "engine", "openai", "resp", "gateway", "loadgen", "node")


def finish(checked: int, faults: list[str], what: str) -> None:
    """Prints the faults and "N passed, N failed"; a check that looked at nothing has failed."""
    if not checked:
        faults.append(f"found no {what} to check")
    for fault in faults:
        print(fault)
    print(f"{1 if not faults else 0} passed, {1 if faults else 0} failed ({checked} {what})")
    sys.exit(1 if faults else 0)
