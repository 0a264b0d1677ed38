# SPDX-License-Identifier: MIT
"""thaw view, as those meet it who should get something, and those who should not: server.py BUILD"""
import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time

from common import THAW, View, check, golden, run_all, thaw

FORBIDDEN = {"x-content-type-options": "nosniff", "x-frame-options": "DENY",
             "referrer-policy": "no-referrer", "cross-origin-resource-policy": "same-origin",
             "cache-control": "no-store"}


def refused(answer, what):
    status, headers, body = answer
    check(status == 403, f"{what}: {status}")
    check(body == b"" and headers.get("content-length") == "0", f"{what}: a body of {body[:40]!r}")
    for key in headers:
        check(not key.startswith("access-control"), f"{what}: {key}")


def loaded(view):
    for _ in range(600):
        status, _, body = view.ask("open")
        check(status == 200, f"open: {status}")
        answer = json.loads(body)
        if answer.get("progress") == 1:
            return answer
        time.sleep(0.05)
    raise AssertionError("it never gets loaded")


def test_the_page_and_its_questions():
    with View(golden("story", "story.thaw")) as v:
        status, headers, body = v.ask("", path=f"/{v.token}/", token=False)
        check(status == 200 and b"</html>" in body, f"the page: {status}")
        check(headers["content-type"] == "text/html; charset=utf-8", "its type")
        policy = headers["content-security-policy"]
        for part in ("default-src 'none'", "connect-src 'self'", "base-uri 'none'",
                     "form-action 'none'", "frame-ancestors 'none'", "worker-src blob:"):
            check(part in policy.split("; "), f"the policy has no {part}")
        check("unsafe-inline" not in policy and "unsafe-eval" not in policy.replace("wasm-unsafe-eval", ""),
              "the policy is too wide")
        for key, want in FORBIDDEN.items():
            check(headers.get(key) == want, f"the page's {key}: {headers.get(key)}")
        check(b"http://" not in body.replace(b"http://www.w3.org/", b"") and b"https://" not in body,
              "the page names another host")
        answer = loaded(v)
        check(answer["schema"] == "thaw.page/1" and answer["threads"], "open")
        truth = json.loads(thaw("report", "--json", "story.thaw").stdout)
        check(answer["capture"]["duration_ns"] == truth["capture"]["duration_ns"], "the duration")
        _, headers, body = v.ask("open")
        check(headers["content-type"] == "application/json", "the type of an answer")
        for key, want in FORBIDDEN.items():
            check(headers.get(key) == want, f"an answer's {key}: {headers.get(key)}")
        status, headers, head = v.ask("open", method="HEAD")
        check(status == 200 and head == b"" and int(headers["content-length"]) == len(body), "HEAD")
        status, _, body = v.ask("nothing")
        check(status == 200 and "error" in json.loads(body), "a question that there is not")


def test_a_wrong_token():
    with View(golden("story", "story.thaw")) as v:
        for token in ("0" * 48, v.token[:-1], v.token + "0", v.token.upper(), "", " "):
            if token != v.token:
                refused(v.ask("open", token=token or False), f"token {token!r}")
                refused(v.ask("", path=f"/{token.strip()}/", token=False), f"page of token {token!r}")
        refused(v.ask("open", token=False), "no token")
        refused(v.ask("", path="/", token=True), "/")
        refused(v.ask("open", headers=[f"X-Thaw-Token: {'0' * 48}"]), "two tokens")
        refused(v.ask(f"open?token={v.token}", token=False), "a token in the query")
        refused(v.ask("open", token=False, headers=[f"Cookie: X-Thaw-Token={v.token}"]), "a cookie")
        check(v.ask("open")[0] == 200, "the right one")


def test_dns_rebinding():
    with View(golden("story", "story.thaw")) as v:
        for host in ("evil.example", f"evil.example:{v.port}", "127.0.0.1", f"127.0.0.1:{v.port + 1}",
                     f"127.0.0.1.evil.example:{v.port}", f"[::2]:{v.port}", "[::1]", f"0.0.0.0:{v.port}",
                     f"127.1:{v.port}", ""):
            refused(v.ask("open", host=host), f"host {host!r}")
            refused(v.ask("", path=f"/{v.token}/", host=host), f"page of host {host!r}")
        refused(v.ask("open", headers=["Host: evil.example"]), "two hosts")
        refused(v.ask("", path=f"http://evil.example/{v.token}/"), "a host in the path")
        refused(v.ask("", path=f"http://127.0.0.1:{v.port}/q/open"), "our host in the path")
        check(v.ask("open", host=f"localhost:{v.port}")[0] == 200, "localhost is ours")
        check(v.ask("open", host=f"[::1]:{v.port}")[0] == 200, "::1 is ours")
        # HTTP/1.0 needs no host, but we do.
        got = v.raw(f"GET /q/open HTTP/1.0\r\nX-Thaw-Token: {v.token}\r\n\r\n".encode())
        check(b" 403 " in got.split(b"\r\n")[0] and b"schema" not in got, "no host")


def test_foreign_pages():
    with View(golden("story", "story.thaw")) as v:
        for origin in ("http://evil.example", "null", "https://evil.example", f"http://localhost:{v.port}",
                       f"https://127.0.0.1:{v.port}", "http://127.0.0.1", "file://"):
            refused(v.ask("open", headers=[f"Origin: {origin}"]), f"origin {origin}")
        for site in ("cross-site", "same-site", "none"):
            refused(v.ask("open", headers=[f"Sec-Fetch-Site: {site}"]), f"site {site}")
        refused(v.ask("open", method="OPTIONS", token=False, headers=[
            "Origin: http://evil.example", "Access-Control-Request-Method: GET",
            "Access-Control-Request-Headers: x-thaw-token"]), "a preflight")
        check(v.ask("open", headers=[f"Origin: http://127.0.0.1:{v.port}",
                                     "Sec-Fetch-Site: same-origin"])[0] == 200, "our own")


def test_other_methods():
    with View(golden("story", "story.thaw")) as v:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "FOO"):
            refused(v.ask("open", method=method), method)
        refused(v.ask("open", method="POST", headers=["Content-Length: 0"]), "POST of nothing")
        body = v.raw((f"POST /q/open HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\nX-Thaw-Token: {v.token}\r\n"
                      "Content-Length: 1000000\r\n\r\n").encode() + b"x" * 1000000)
        check(b"schema" not in body, "POST with a body")
        body = v.raw((f"GET /q/open HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\nX-Thaw-Token: {v.token}\r\n"
                      "Content-Length: 1000000\r\n\r\n").encode() + b"x" * 1000000)
        check(b"schema" not in body, "GET with a body")
        check(v.ask("open")[0] == 200, "it still answers")


def test_paths():
    with View(golden("story", "story.thaw")) as v:
        for path in ("/etc/passwd", "/../../etc/passwd", "/q/../../etc/passwd", "/q/..%2f..%2fetc%2fpasswd",
                     f"/{v.token}/../../etc/passwd", f"/{v.token}/story.thaw", f"/{v.token}",
                     f"//{v.token}/", "/q/", "/q", "/q/open/", "/q/%6fpen", "/favicon.ico", "*",
                     "/q/open%00", "/q/\xff"):
            refused(v.ask("", path=path), path)


def test_what_is_no_http():
    with View(golden("story", "story.thaw")) as v:
        token = f"X-Thaw-Token: {v.token}\r\n"
        # What never becomes a request: the connection is all that it gets.
        for junk in (b"", bytes(10000), b"GET", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            with v.connect() as s:
                s.sendall(junk)
        for junk in (b"GET / \r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n" + os.urandom(100000) + b"\r\n\r\n",
                     b"GET /q/open HTTP/1.1\r\n" + b"A: b\r\n" * 200000 + b"\r\n",
                     b"GET /" + b"q" * 2000000 + b" HTTP/1.1\r\n\r\n",
                     (f"GET /q/open HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\n{token}"
                      f"Cookie: {'x' * 1000000}\r\n\r\n").encode(),
                     (f"GET /q/open?x={'x' * 3000000} HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\n{token}\r\n").encode()):
            check(b"schema" not in v.raw(junk), f"{junk[:30]!r}")
        check(v.ask("open")[0] == 200, "it still answers")
        # A long list of threads is a request like any other.
        many = ",".join(str(i) for i in range(20000))
        check(v.ask(f"open?threads={many}")[0] == 200, "a long question")


def test_slow_clients_block_nobody():
    with View(golden("story", "story.thaw")) as v:
        loaded(v)
        slow = [v.connect() for _ in range(200)]
        start = f"GET /q/open HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\nX-Tha".encode()
        for i, s in enumerate(slow):
            s.sendall(start[:1 + i % len(start)])
        # Those who ask and never read.
        for s in slow[:50]:
            s.sendall(start[1 + slow.index(s) % len(start):] + f"w-Token: {v.token}\r\n\r\n".encode())
        for _ in range(20):
            check(v.ask("open")[0] == 200, "somebody else gets no answer")
            for s in slow[50:]:
                s.sendall(b"x")
        for s in slow:
            s.close()
        check(v.ask("open")[0] == 200, "afterwards")


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def test_ten_thousand_requests():
    with View(golden("story", "story.thaw")) as v:
        loaded(v)
        first = None
        connections = [http.client.HTTPConnection("127.0.0.1", v.port, timeout=30) for _ in range(4)]
        for i in range(10000):
            c = connections[i % 4]
            wrong = i % 10 == 9
            c.request("GET", "/q/open", headers={"X-Thaw-Token": "0" * 48 if wrong else v.token})
            answer = c.getresponse()
            digest = hashlib.sha256(answer.read()).hexdigest()
            check(answer.status == (403 if wrong else 200), f"request {i}: {answer.status}")
            if not wrong:
                first = first or digest
                check(digest == first, f"request {i} got another answer")
            if i == 1000:
                before = resident_kib(v.process.pid)
        grown = resident_kib(v.process.pid) - before
        check(grown < 4096, f"memory grew by {grown} KiB")
        with open(f"/proc/{v.process.pid}/stat", encoding="ascii"):
            check(len(os.listdir(f"/proc/{v.process.pid}/fd")) < 40, "descriptors are left open")
        return f"memory grew by {grown} KiB"


def test_only_loopback():
    with View(golden("story", "story.thaw")) as v:
        with open("/proc/net/tcp", encoding="ascii") as f:
            listening = [line.split()[1] for line in f if line.split()[3] == "0A"]
        ours = [a for a in listening if int(a.split(":")[1], 16) == v.port]
        check(ours == [f"0100007F:{v.port:04X}"], f"it listens on {ours}")
        if not os.path.exists("/proc/net/if_inet6"):
            return
        with open("/proc/net/tcp6", encoding="ascii") as f:
            listening = [line.split()[1] for line in f if line.split()[3] == "0A"]
        ours = [a for a in listening if int(a.split(":")[1], 16) == v.port]
        check(ours == [f"{'0' * 24}01000000:{v.port:04X}"], f"it listens on {ours}")


def test_the_token_is_no_argument():
    """A browser is started with a file, not with the address: others can read arguments."""
    os.mkdir("bin")
    with open("bin/xdg-open", "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nls -l "$1" >"$OUT.tmp"; cat "$1" >>"$OUT.tmp"; echo "$@" >>"$OUT.tmp"\nmv "$OUT.tmp" "$OUT"\n')
    os.chmod("bin/xdg-open", 0o755)
    env = {**os.environ, "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"], "DISPLAY": ":77",
           "XDG_RUNTIME_DIR": os.getcwd(), "OUT": os.path.abspath("said")}
    for name in ("SUDO_UID", "PKEXEC_UID", "DOAS_USER"):
        env.pop(name, None)
    golden("story", "story.thaw")
    p = subprocess.Popen([THAW, "view", "story.thaw"], env=env, text=True, stdout=subprocess.PIPE)
    address = p.stdout.readline().strip()
    for _ in range(200):
        if os.path.exists("said"):
            break
        time.sleep(0.05)
    with open("said", encoding="ascii") as f:
        lines = f.read().splitlines()
    check(lines[0].startswith("-rw-------"), f"others can read the file: {lines[0]}")
    check(address in "\n".join(lines[1:-1]), "the file does not lead to the page")
    token = address.split("/")[3]
    check(token not in lines[-1], "the token is an argument")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    check(p.returncode == 0, f"it ended with {p.returncode}")
    check(not os.path.exists(lines[-1]), "the file stays")
    os.remove("said")
    for more in ({"SUDO_UID": "1000"}, {"DISPLAY": ""}):
        if os.geteuid() and "SUDO_UID" in more:
            continue
        with View("story.thaw", env={**env, **more}):
            pass
        with subprocess.Popen([THAW, "view", "story.thaw"], env={**env, **more}, text=True,
                              stdout=subprocess.PIPE) as p:
            check("Open this address" in p.stdout.readline() + p.stdout.readline(), "what to do")
            p.send_signal(signal.SIGINT)
        check(not os.path.exists("said"), f"a browser is started with {more}")


def test_ctrl_c():
    golden("story", "story.thaw")
    for signals in ([signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP]):
        with View("story.thaw") as v:
            with v.connect() as s:
                s.sendall(b"GET /q/op")
                for sig in signals:
                    v.process.send_signal(sig)
                v.process.wait(timeout=30)
            check(v.process.returncode == 0, f"{signals}: {v.process.returncode}")


def test_a_port_in_use():
    golden("story", "story.thaw")
    with View("story.thaw") as v:
        r = thaw("view", "--no-open", "--port", v.port, "story.thaw")
        check(r.returncode == 1, f"exit {r.returncode}")
        check(f"port {v.port} is in use" in r.stderr and "--port" in r.stderr, r.stderr)
        port = v.port
    with View("story.thaw", "--port", str(port)) as v:
        check(v.port == port, "another port")
    for bad in ("0", "65536", "-1", "x"):
        check(thaw("view", "--port", bad, "story.thaw").returncode == 2, f"port {bad}")


def test_captures_that_cannot_be_shown():
    with open("not.thaw", "wb") as f:
        f.write(b"GIF89a" + bytes(1000))
    with open("empty.thaw", "wb") as f:
        pass
    golden("story", "hidden.thaw")
    for name, words in (("not.thaw", "not a capture"), ("empty.thaw", "empty"), ("nowhere.thaw", "no file"),
                        (".", "not a regular file")):
        r = thaw("view", "--no-open", name)
        check(r.returncode == 1 and words in r.stderr and not r.stdout, f"{name}: {r.stderr}")
    if os.geteuid():
        os.chmod("hidden.thaw", 0)
        r = thaw("view", "--no-open", "hidden.thaw")
        check(r.returncode == 1 and "ermission" in r.stderr, r.stderr)
    else:
        os.chmod(".", 0o755)
        os.chmod("hidden.thaw", 0o600)
        r = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", THAW, "view",
                            "--no-open", "hidden.thaw"], capture_output=True, text=True, timeout=60)
        check(r.returncode == 1 and "ermission" in r.stderr, r.stderr)


def test_a_torn_capture():
    golden("torn", "torn.thaw")
    with View("torn.thaw") as v:
        answer = loaded(v)
        check(answer["capture"]["complete"] is False and answer["threads"], "what is there")
        check("torn" in answer["capture"]["damage"], "what is not")
    check("torn" in v.err and "what could be read" in v.err, f"the terminal: {v.err}")
    golden("story", "story.thaw")
    size = os.path.getsize("story.thaw")
    for cut in (64, size // 3, size // 2, size - 1):
        with open("story.thaw", "rb") as f, open("cut.thaw", "wb") as g:
            g.write(f.read(cut))
        with View("cut.thaw") as v:
            check(loaded(v)["capture"]["complete"] is False, f"cut at {cut}")


def test_a_capture_that_grows():
    golden("story", "story.thaw")
    with open("story.thaw", "rb") as f:
        whole = f.read()
    with open("grows.thaw", "wb") as g:
        g.write(whole[:len(whole) // 2])
        g.flush()
        with View("grows.thaw") as v:
            first = loaded(v)
            g.write(whole[len(whole) // 2:])
            g.flush()
            check(loaded(v)["duration_ns"] == first["duration_ns"], "it changes while one looks")


if __name__ == "__main__":
    sys.exit(run_all("server", [fn for name, fn in list(globals().items()) if name.startswith("test_")]))
