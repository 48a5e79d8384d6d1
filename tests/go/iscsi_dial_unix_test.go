//go:build !windows

package clients

import (
	"testing"

	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
)

func dialIscsiV1alpha1(t *testing.T) iscsiv1alpha1.IscsiClient {
	return iscsiv1alpha1.NewIscsiClient(dial(t, "iscsi", "v1alpha1"))
}

func dialIscsiV1alpha2(t *testing.T) iscsiv1alpha2.IscsiClient {
	return iscsiv1alpha2.NewIscsiClient(dial(t, "iscsi", "v1alpha2"))
}

func dialSystemV1alpha1(t *testing.T) systemv1alpha1.SystemClient {
	return systemv1alpha1.NewSystemClient(dial(t, "system", "v1alpha1"))
}
