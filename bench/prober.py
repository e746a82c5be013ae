"""``python -m bench.prober URL BODY SECONDS RATE``: how long a webhook takes at a steady, modest rate.

A process of its own with one connection, since the latencies of a client that does other things as well would
be those of its other things. Prints a JSON list of pairs: when each request was sent (of the monotonic clock,
which all processes of a machine share) and how long its answer took, both in seconds.
"""

import http.client
import json
import ssl
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


def main(url: str, body: Path, seconds: float, rate: float) -> None:
    """Send requests at a fixed rate; one whose turn comes late is sent at once and none is left out."""
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # what is measured is the server, on loopback
    connection = http.client.HTTPSConnection(parts.netloc, context=context, timeout=30)
    content = body.read_bytes()
    found = []
    begun = time.monotonic()
    for number in range(int(seconds * rate)):
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
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
