-- Post one body again and again, and print what was measured as one line of JSON.

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["Content-Type"] = "application/json"
  file:close()
end

function done(summary, latency)
  local failed = summary.errors
  local errors = failed.connect + failed.read + failed.write + failed.status + failed.timeout
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"errors":%d,"p50":%f,"p99":%f}\n',
    summary.requests, summary.duration / 1e6, errors,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
