package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "etcd.database.coreos.com", Version: "v1beta2"}

// EtcdCluster is the custom resource, as far as a review in the benchmark fills it.
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec EtcdClusterSpec `json:"spec"`
}

// EtcdClusterSpec says what is wanted.
type EtcdClusterSpec struct {
	Size       int        `json:"size"`
	Repository string     `json:"repository,omitempty"`
	Version    string     `json:"version,omitempty"`
	Paused     bool       `json:"paused,omitempty"`
	Pod        *PodPolicy `json:"pod,omitempty"`
}

// PodPolicy says how the Pods are to be.
type PodPolicy struct {
	Labels                    map[string]string                 `json:"labels,omitempty"`
	Annotations               map[string]string                 `json:"annotations,omitempty"`
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	Resources                 corev1.ResourceRequirements       `json:"resources,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	EtcdEnv                   []corev1.EnvVar                   `json:"etcdEnv,omitempty"`
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`
	SecurityContext           *corev1.PodSecurityContext        `json:"securityContext,omitempty"`
	ClusterDomain             string                            `json:"ClusterDomain,omitempty"`
}

// EtcdClusterList is a list of them; a scheme wants one.
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdCluster `json:"items"`
}

// DeepCopyObject copies what the library itself may change, which is nothing below the metadata.
func (cluster *EtcdCluster) DeepCopyObject() runtime.Object {
	copied := *cluster
	cluster.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies the list itself, not what is in it.
func (list *EtcdClusterList) DeepCopyObject() runtime.Object {
	copied := *list
	return &copied
}
