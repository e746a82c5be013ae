// A validating webhook as the author of an operator writes it with controller-runtime: typed objects, a typed
// validator with a few rules, and the library's own server with its metrics. It needs no API server.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var (
	version  = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)
	reserved = []string{"app", "etcd_cluster", "etcd_node"}
)

type validator struct{}

func (validator) ValidateCreate(_ context.Context, cluster *EtcdCluster) (admission.Warnings, error) {
	return nil, judge(cluster).ToAggregate()
}

func (validator) ValidateUpdate(_ context.Context, before, after *EtcdCluster) (admission.Warnings, error) {
	faults := judge(after)
	if before.Spec.Pod != nil && after.Spec.Pod != nil && before.Spec.Pod.ClusterDomain != after.Spec.Pod.ClusterDomain {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "pod", "ClusterDomain"), "can't be changed"))
	}
	return nil, faults.ToAggregate()
}

func (validator) ValidateDelete(context.Context, *EtcdCluster) (admission.Warnings, error) {
	return nil, nil
}

func judge(cluster *EtcdCluster) field.ErrorList {
	var faults field.ErrorList
	spec := field.NewPath("spec")
	if size := cluster.Spec.Size; size < 1 || size > 9 {
		faults = append(faults, field.Invalid(spec.Child("size"), size, "must be between 1 and 9"))
	}
	if !version.MatchString(cluster.Spec.Version) {
		faults = append(faults, field.Invalid(spec.Child("version"), cluster.Spec.Version, "must be x.y.z"))
	}
	if pod := cluster.Spec.Pod; pod != nil {
		for _, label := range reserved {
			if _, given := pod.Labels[label]; given {
				faults = append(faults, field.Forbidden(spec.Child("pod", "labels").Key(label), "is the operator's"))
			}
		}
		for index, variable := range pod.EtcdEnv {
			if !strings.HasPrefix(variable.Name, "ETCD_") {
				path := spec.Child("pod", "etcdEnv").Index(index).Child("name")
				faults = append(faults, field.Invalid(path, variable.Name, "must begin with ETCD_"))
			}
		}
	}
	return faults
}

func main() {
	port := flag.Int("port", 9443, "where to listen, on 127.0.0.1")
	certificates := flag.String("cert-dir", "", "the folder of tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())

	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &EtcdCluster{}, &EtcdClusterList{})
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates})
	server.Register("/validate", admission.WithValidator[*EtcdCluster](scheme, validator{}))
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(fmt.Errorf("the webhook server ended: %w", err))
	}
}
