# SPDX-License-Identifier: MIT
"""What thaw doctor says must be what then happens: for root, for a plain user, without BTF, with perf
events closed, in a user namespace of one's own."""
import contextlib
import json
import os
import subprocess
import sys

from harness import Skip, THAW, check, info, report, run, tests_of, thaw

BESIDE = True   # compares no clocks: test/run puts others next to it

PARANOID = "/proc/sys/kernel/perf_event_paranoid"
STATUS = {"good": 0, "accepted": 0, "degraded": 1, "refused": 2}


def call(args, wrap=(), drop=False):
    """Runs thaw, through another program (wrap) or as user nobody."""
    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    return subprocess.run([*wrap, THAW, *args], capture_output=True, text=True, timeout=120,
                          check=False, preexec_fn=nobody if drop else None)


def agrees(what, **how):
    """Asks doctor, then records a command, and compares. Returns what doctor said."""
    r = call(["doctor", "--json"], **how)
    check(r.stdout.startswith("{"), f"{what}: no JSON: {r.stdout[:200]} {r.stderr[:300]}")
    said = json.loads(r.stdout)
    check(said["schema"] == "thaw.doctor/1", said["schema"])
    check(r.returncode == STATUS[said["verdict"]], f"{what}: {said['verdict']}, exit {r.returncode}")
    engine = said["command"]["engine"]
    text = call(["doctor"], **how)
    check(text.returncode == r.returncode, f"{what}: as text, exit {text.returncode}")
    check(not any(len(line) > 80 for line in text.stdout.splitlines()), f"{what}: {text.stdout}")
    check((said["verdict"] == "refused") == (engine is None), f"{what}: {said['verdict']}, {engine}")
    for e in said["engines"]:
        if not e["usable"]:
            check(e["why_not"] and e["why_not"].split()[0] in text.stdout, f"{what}: {text.stdout}")
    os.chmod(".", 0o777)
    if os.path.exists("c.thaw"):
        os.unlink("c.thaw")
    r = call(["record", "-o", "c.thaw", "--", "sleep", "0.2"], **how)
    if engine is None:
        check(r.returncode == 1 and not os.path.exists("c.thaw"), f"{what}: recorded all the same")
        check(said["command"]["why_not"] in r.stderr, f"{what}: {r.stderr}")
    else:
        check(r.returncode == 0, f"{what}: {r.stderr}")
        got = report("c.thaw")
        check(got["capture"]["engine"] == engine, f"{what}: {got['capture']['engine']}, not {engine}")
        check(got["guard"]["verdict"] == said["verdict"], f"{what}: {got['guard']}")
        # A better engine that was passed over is told in one line.
        check((engine == "bpf") == (f"the {engine} engine" not in r.stderr), f"{what}: {r.stderr}")
    return said


def test_root():
    said = agrees("root")
    check(said["command"]["engine"] == said["system"]["engine"] == "bpf", said["command"])
    kernel = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=True).stdout.strip()
    check(said["kernel"]["release"] == kernel, said["kernel"])
    check(said["kernel"]["btf"] and said["features"]["tp_switch"], said["features"])
    check(said["process"]["cap_bpf"] and not said["process"]["own_user_ns"], said["process"])


def test_plain_user():
    said = agrees("nobody", drop=True)
    check(said["command"]["engine"] != "bpf", said["command"])
    bpf = next(e for e in said["engines"] if e["name"] == "bpf")
    check("CAP_BPF" in bpf["why_not"] and "sudo" in bpf["why_not"], bpf["why_not"])
    return f"{said['command']['engine'] or 'refused'}"


def test_without_btf():
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
    r = subprocess.run([*hide, "true"], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f"cannot hide it: {r.stderr.strip()}")
    said = agrees("no BTF", wrap=hide)
    bpf = next(e for e in said["engines"] if e["name"] == "bpf")
    check(not bpf["usable"] and "/sys/kernel/btf" in bpf["why_not"], bpf)
    return f"{said['command']['engine'] or 'refused'}"


@contextlib.contextmanager
def paranoid(level):
    with open(PARANOID, encoding="ascii") as f:
        before = f.read()
    try:
        with open(PARANOID, "w", encoding="ascii") as f:
            f.write(str(level))
    except OSError as why:
        raise Skip(f"perf_event_paranoid cannot be set: {why}") from why
    try:
        yield
    finally:
        with open(PARANOID, "w", encoding="ascii") as f:
            f.write(before)


def test_paranoid():
    with paranoid(3):
        said = agrees("nobody, paranoid 3", drop=True)
        check(said["sysctl"]["perf_event_paranoid"] == 3, said["sysctl"])
        # Upstream knows no level above 2; distributions that do refuse the event.
        refused = not said["features"]["clock_self"]
        for e in said["engines"]:
            if e["name"] == "perf":
                check(e["usable"] != refused, e)
        agrees("root, paranoid 3")
    return f"perf events {'refused' if refused else 'still allowed'}: {said['command']['engine']}"


def test_user_namespace():
    wrap = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
            "unshare", "--user", "--map-root-user"]
    r = subprocess.run([*wrap, "true"], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f"no user namespaces for users: {r.stderr.strip()}")
    said = agrees("user namespace", wrap=wrap)
    check(said["process"]["own_user_ns"] and said["process"]["cap_bpf"], said["process"])
    bpf = next(e for e in said["engines"] if e["name"] == "bpf")
    check(not bpf["usable"] and "user namespace" in bpf["why_not"], bpf)
    return f"{said['command']['engine'] or 'refused'}"


def test_pid_namespace():
    wrap = ["unshare", "--pid", "--fork", "--mount-proc"]
    r = subprocess.run([*wrap, "true"], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f"no pid namespace: {r.stderr.strip()}")
    said = agrees("pid namespace", wrap=wrap)
    bpf = next(e for e in said["engines"] if e["name"] == "bpf")
    check(not bpf["usable"] and "--pid=host" in bpf["why_not"], bpf)


def test_probe():
    """Re-enters the kernel's ring buffer, within the bounds of the test; thaw's own ring loses nothing."""
    said = json.loads(thaw("doctor", "--probe", "--json").stdout)
    text = thaw("doctor", "--probe").stdout
    check("measured" in text and not any(len(line) > 80 for line in text.splitlines()), text)
    kernel, own = said["probe"]["kernel_ring"], said["probe"]["thaw_ring"]
    if own["why_not"]:
        raise Skip(own["why_not"])
    check(own["tries"] > 100 and own["failed"] == 0, own)
    if said["mechanisms"]["kernel_ring"] == "refuse":
        check(said["probe"]["refused"] and kernel["tries"] == 0, said["probe"])
        return f"kernel not tried: {said['probe']['refused']}"
    check(0 < kernel["tries"] <= 64, kernel)
    # A reservation inside of a reservation cannot get the lock, on any kernel.
    check(kernel["failed"] == kernel["tries"], kernel)
    loaded = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=False)
    check("on_breakpoint" not in loaded.stdout, "the programs are still there")
    return f"kernel {kernel['mean_ns'] / 1000:.1f} us, thaw {own['mean_ns'] / 1000:.2f} us"


def pretend(release):
    """Runs thaw where the kernel's release is another one, as far as files tell."""
    with open("release", "w", encoding="ascii") as f:
        f.write(release + "\n")
    wrap = ["unshare", "-m", "sh", "-c",
            f'mount --bind "{os.path.abspath("release")}" /proc/sys/kernel/osrelease && exec "$@"', "sh"]
    r = subprocess.run([*wrap, "true"], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f"cannot pretend: {r.stderr.strip()}")
    return wrap


def findings(said):
    return {f["id"] for f in said["findings"]}


def test_too_new_a_kernel():
    """Its safest mode records all the same."""
    said = agrees("7.9.1", wrap=pretend("7.9.1"))
    check(said["verdict"] == "degraded" and {"NEW", "R5"} <= findings(said), findings(said))
    check(said["user_stacks"] == "frame_pointers", said["user_stacks"])
    facts = {f["key"]: f["value"] for f in info("c.thaw")["facts"]}
    check(facts["engine"] == "bpf" and facts["kernel_locks"] == "no", facts)
    waits = sum(t["waiting_ns"] for t in report("c.thaw")["threads"])
    check(waits > 150e6, f"{waits} ns of waiting, of a sleep of 200 ms")
    r = call(["doctor", "--probe", "--json"], wrap=pretend("7.9.1"))
    check(json.loads(r.stdout)["probe"]["refused"] == "R5", r.stdout[-500:])


def test_user_memory_is_left_alone():
    """thaw does not read user memory on a kernel where that can lock up the machine, unless the user accepts it."""
    wrap = pretend("6.1.20")
    said = agrees("6.1.20", wrap=wrap)
    check("H1" in findings(said) and said["mechanisms"]["user_read"] == "degrade", said["mechanisms"])
    check(said["user_stacks"] == "frame_pointers", said["user_stacks"])
    r = call(["record", "-o", "a.thaw", "--accept", "H1", "--", "sleep", "0.2"], wrap=wrap)
    check(r.returncode == 0 and "H1 was accepted" in r.stderr, r.stderr)
    guard = report("a.thaw")["guard"]
    check(guard["verdict"] == "accepted", guard)
    check(any(f["id"] == "H1" and f["action"] == "accept" for f in guard["findings"]), guard)
    facts = {f["key"]: f["value"] for f in info("a.thaw")["facts"]}
    check(int(facts.get("unwind_rows", 0)) > 0, "stacks are walked by tables again")


def test_ring_that_may_lock_up():
    """The kernel's ring buffer is not even tried there; thaw's own is."""
    r = call(["doctor", "--probe", "--json"], wrap=pretend("6.16.3"))
    said = json.loads(r.stdout)
    if "R1" not in findings(said):
        raise Skip("this kernel's own functions show that its ring buffer cannot")
    check(said["probe"]["refused"] == "R1", said["probe"])
    check(said["probe"]["kernel_ring"]["tries"] == 0, said["probe"])
    check(r.returncode == 0, f"that costs thaw nothing, but exit {r.returncode}")


def test_accept_is_recorded():
    r = thaw("record", "-o", "c.thaw", "--accept", "H1", "--accept", "rt", "--", "true")
    check(r.returncode == 0, r.stderr)
    accepted = [f["value"] for f in info("c.thaw")["facts"] if f["key"] == "guard_accept"]
    check(accepted == ["H1", "RT"], accepted)
    r = thaw("record", "--accept", "H99", "--", "true")
    check(r.returncode == 2 and "H99" in r.stderr and "H1, " in r.stderr, r.stderr)


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
