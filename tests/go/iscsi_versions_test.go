package clients

import (
	"context"

	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	v1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
)

type iscsiV1alpha1 struct{ v1alpha1.IscsiClient }

func (i iscsiV1alpha1) addPortal(ctx context.Context, at *portal) error {
	return done(i.AddTargetPortal(ctx, &v1alpha1.AddTargetPortalRequest{TargetPortal: portalV1alpha1(at)}))
}

func (i iscsiV1alpha1) discover(ctx context.Context, at *portal) ([]string, error) {
	answer, err := i.DiscoverTargetPortal(ctx, &v1alpha1.DiscoverTargetPortalRequest{TargetPortal: portalV1alpha1(at)})
	return answer.GetIqns(), err
}

func (i iscsiV1alpha1) removePortal(ctx context.Context, at *portal) error {
	return done(i.RemoveTargetPortal(ctx, &v1alpha1.RemoveTargetPortalRequest{TargetPortal: portalV1alpha1(at)}))
}

func (i iscsiV1alpha1) portals(ctx context.Context) ([]portal, error) {
	answer, err := i.ListTargetPortals(ctx, &v1alpha1.ListTargetPortalsRequest{})
	var found []portal
	for _, at := range answer.GetTargetPortals() {
		found = append(found, portal{at.TargetAddress, at.TargetPort})
	}
	return found, err
}

func (i iscsiV1alpha1) logIn(ctx context.Context, at *portal, iqn string, by login) error {
	return done(i.ConnectTarget(ctx, &v1alpha1.ConnectTargetRequest{
		TargetPortal: portalV1alpha1(at), Iqn: iqn,
		AuthType: v1alpha1.AuthenticationType(by.kind), ChapUsername: by.user, ChapSecret: by.secret,
	}))
}

func (i iscsiV1alpha1) logOut(ctx context.Context, at *portal, iqn string) error {
	return done(i.DisconnectTarget(ctx, &v1alpha1.DisconnectTargetRequest{TargetPortal: portalV1alpha1(at), Iqn: iqn}))
}

func (i iscsiV1alpha1) disks(ctx context.Context, at *portal, iqn string) ([]string, error) {
	answer, err := i.GetTargetDisks(ctx, &v1alpha1.GetTargetDisksRequest{TargetPortal: portalV1alpha1(at), Iqn: iqn})
	return answer.GetDiskIDs(), err
}

func portalV1alpha1(at *portal) *v1alpha1.TargetPortal {
	if at == nil {
		return nil
	}
	return &v1alpha1.TargetPortal{TargetAddress: at.address, TargetPort: at.port}
}

type iscsiV1alpha2 struct{ v1alpha2.IscsiClient }

func (i iscsiV1alpha2) addPortal(ctx context.Context, at *portal) error {
	return done(i.AddTargetPortal(ctx, &v1alpha2.AddTargetPortalRequest{TargetPortal: portalV1alpha2(at)}))
}

func (i iscsiV1alpha2) discover(ctx context.Context, at *portal) ([]string, error) {
	answer, err := i.DiscoverTargetPortal(ctx, &v1alpha2.DiscoverTargetPortalRequest{TargetPortal: portalV1alpha2(at)})
	return answer.GetIqns(), err
}

func (i iscsiV1alpha2) removePortal(ctx context.Context, at *portal) error {
	return done(i.RemoveTargetPortal(ctx, &v1alpha2.RemoveTargetPortalRequest{TargetPortal: portalV1alpha2(at)}))
}

func (i iscsiV1alpha2) portals(ctx context.Context) ([]portal, error) {
	answer, err := i.ListTargetPortals(ctx, &v1alpha2.ListTargetPortalsRequest{})
	var found []portal
	for _, at := range answer.GetTargetPortals() {
		found = append(found, portal{at.TargetAddress, at.TargetPort})
	}
	return found, err
}

func (i iscsiV1alpha2) logIn(ctx context.Context, at *portal, iqn string, by login) error {
	return done(i.ConnectTarget(ctx, &v1alpha2.ConnectTargetRequest{
		TargetPortal: portalV1alpha2(at), Iqn: iqn,
		AuthType: v1alpha2.AuthenticationType(by.kind), ChapUsername: by.user, ChapSecret: by.secret,
	}))
}

func (i iscsiV1alpha2) logOut(ctx context.Context, at *portal, iqn string) error {
	return done(i.DisconnectTarget(ctx, &v1alpha2.DisconnectTargetRequest{TargetPortal: portalV1alpha2(at), Iqn: iqn}))
}

func (i iscsiV1alpha2) disks(ctx context.Context, at *portal, iqn string) ([]string, error) {
	answer, err := i.GetTargetDisks(ctx, &v1alpha2.GetTargetDisksRequest{TargetPortal: portalV1alpha2(at), Iqn: iqn})
	return answer.GetDiskIDs(), err
}

func portalV1alpha2(at *portal) *v1alpha2.TargetPortal {
	if at == nil {
		return nil
	}
	return &v1alpha2.TargetPortal{TargetAddress: at.address, TargetPort: at.port}
}

func (i iscsiV1alpha2) setMutualSecret(ctx context.Context, secret string) error {
	return done(i.SetMutualChapSecret(ctx, &v1alpha2.SetMutualChapSecretRequest{MutualChapSecret: secret}))
}
