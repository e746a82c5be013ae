module crds

go 1.24.0

require (
	github.com/cert-manager/cert-manager v1.18.2
	github.com/prometheus-operator/prometheus-operator v0.83.0
)
