"""``python -m bench.prober URL BODY RATE``: how long a webhook takes at a steady, modest rate.

A process of its own with one connection, since the latencies of a client that does other things as well would
be those of its other things. It goes on until it is asked to end (SIGTERM), or for ten minutes. Prints a JSON
list of pairs: when each request was sent (of the monotonic clock, which all processes of a machine share) and
how long its answer took, both in seconds.
"""

import http.client
import json
import signal
import ssl
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

_LONGEST_SECONDS = 600.0


def main(url: str, body: Path, rate: float) -> None:
    """Send requests at a fixed rate; one whose turn comes late is sent at once and none is left out."""
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # what is measured is the server, on loopback
    connection = http.client.HTTPSConnection(parts.netloc, context=context, timeout=30)
    content = body.read_bytes()
    found = []
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: ended.set())
    begun = time.monotonic()
    for number in range(int(_LONGEST_SECONDS * rate)):
        if ended.is_set():
            break
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        sent = time.monotonic()
        connection.request(
            "POST", f"{parts.path}?{parts.query}", content, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            sys.exit(f"status {answer.status}")
        found.append((sent, time.monotonic() - sent))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
