package clients

import (
	"context"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1alpha1"
	v1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	v1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta2"
)

type smbV1 struct{ v1.SmbClient }

func (s smbV1) add(ctx context.Context, remote, local, user, password string) error {
	return done(s.NewSmbGlobalMapping(ctx, &v1.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	}))
}

func (s smbV1) remove(ctx context.Context, remote string) error {
	return done(s.RemoveSmbGlobalMapping(ctx, &v1.RemoveSmbGlobalMappingRequest{RemotePath: remote}))
}

type smbV1alpha1 struct{ v1alpha1.SmbClient }

func (s smbV1alpha1) add(ctx context.Context, remote, local, user, password string) error {
	answer, err := s.NewSmbGlobalMapping(ctx, &v1alpha1.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	})
	return withoutErrorField(answer, err)
}

func (s smbV1alpha1) remove(ctx context.Context, remote string) error {
	answer, err := s.RemoveSmbGlobalMapping(ctx, &v1alpha1.RemoveSmbGlobalMappingRequest{RemotePath: remote})
	return withoutErrorField(answer, err)
}

type smbV1beta1 struct{ v1beta1.SmbClient }

func (s smbV1beta1) add(ctx context.Context, remote, local, user, password string) error {
	answer, err := s.NewSmbGlobalMapping(ctx, &v1beta1.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	})
	return withoutErrorField(answer, err)
}

func (s smbV1beta1) remove(ctx context.Context, remote string) error {
	answer, err := s.RemoveSmbGlobalMapping(ctx, &v1beta1.RemoveSmbGlobalMappingRequest{RemotePath: remote})
	return withoutErrorField(answer, err)
}

type smbV1beta2 struct{ v1beta2.SmbClient }

func (s smbV1beta2) add(ctx context.Context, remote, local, user, password string) error {
	return done(s.NewSmbGlobalMapping(ctx, &v1beta2.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	}))
}

func (s smbV1beta2) remove(ctx context.Context, remote string) error {
	return done(s.RemoveSmbGlobalMapping(ctx, &v1beta2.RemoveSmbGlobalMappingRequest{RemotePath: remote}))
}
