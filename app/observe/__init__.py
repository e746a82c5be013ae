"""I/O in: caches, live reads and etcd's own words become one frozen `app.plan.observed.Observed`."""
