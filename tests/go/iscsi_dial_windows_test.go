package clients

import (
	"testing"

	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
)

func dialIscsiV1alpha1(t *testing.T) *iscsiv1alpha1.Client {
	return opened(t, "iscsi v1alpha1", iscsiv1alpha1.NewClient)
}

func dialIscsiV1alpha2(t *testing.T) *iscsiv1alpha2.Client {
	return opened(t, "iscsi v1alpha2", iscsiv1alpha2.NewClient)
}

func dialSystemV1alpha1(t *testing.T) *systemv1alpha1.Client {
	return opened(t, "system v1alpha1", systemv1alpha1.NewClient)
}
