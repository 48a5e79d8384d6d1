package clients

import (
	"context"
	"testing"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	v1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	v1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
)

// filesystem is what every version of the group offers, under whichever names.
type filesystem interface {
	exists(ctx context.Context, path string) (bool, error)
	mkdir(ctx context.Context, path string) error
	rmdir(ctx context.Context, path string, force bool) error
	link(ctx context.Context, source, target string) error
	isLink(ctx context.Context, path string) (bool, error)
}

// filesystems opens each version; v2alpha1 adds itself where the client has it.
var filesystems = map[string]func(*testing.T) filesystem{
	"v1":       func(t *testing.T) filesystem { return filesystemV1{dialFilesystemV1(t)} },
	"v1alpha1": func(t *testing.T) filesystem { return filesystemV1alpha1{t, dialFilesystemV1alpha1(t)} },
	"v1beta1":  func(t *testing.T) filesystem { return filesystemV1beta1{t, dialFilesystemV1beta1(t)} },
	"v1beta2":  func(t *testing.T) filesystem { return filesystemV1beta2{dialFilesystemV1beta2(t)} },
}

type filesystemV1 struct{ client v1.FilesystemClient }

func (f filesystemV1) exists(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.PathExists(ctx, &v1.PathExistsRequest{Path: path})
	return answer.GetExists(), err
}

func (f filesystemV1) mkdir(ctx context.Context, path string) error {
	_, err := f.client.Mkdir(ctx, &v1.MkdirRequest{Path: path})
	return err
}

func (f filesystemV1) rmdir(ctx context.Context, path string, force bool) error {
	_, err := f.client.Rmdir(ctx, &v1.RmdirRequest{Path: path, Force: force})
	return err
}

func (f filesystemV1) link(ctx context.Context, source, target string) error {
	_, err := f.client.CreateSymlink(ctx, &v1.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (f filesystemV1) isLink(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.IsSymlink(ctx, &v1.IsSymlinkRequest{Path: path})
	return answer.GetIsSymlink(), err
}

type filesystemV1beta2 struct{ client v1beta2.FilesystemClient }

func (f filesystemV1beta2) exists(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.PathExists(ctx, &v1beta2.PathExistsRequest{Path: path})
	return answer.GetExists(), err
}

func (f filesystemV1beta2) mkdir(ctx context.Context, path string) error {
	_, err := f.client.Mkdir(ctx, &v1beta2.MkdirRequest{Path: path})
	return err
}

func (f filesystemV1beta2) rmdir(ctx context.Context, path string, force bool) error {
	_, err := f.client.Rmdir(ctx, &v1beta2.RmdirRequest{Path: path, Force: force})
	return err
}

func (f filesystemV1beta2) link(ctx context.Context, source, target string) error {
	_, err := f.client.CreateSymlink(ctx, &v1beta2.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (f filesystemV1beta2) isLink(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.IsSymlink(ctx, &v1beta2.IsSymlinkRequest{Path: path})
	return answer.GetIsSymlink(), err
}

// The two oldest versions have an error field in every answer. csi-proxy never filled it: a failure
// is a gRPC error there too, and a driver that reads the field must find it empty.

type filesystemV1beta1 struct {
	t      *testing.T
	client v1beta1.FilesystemClient
}

func (f filesystemV1beta1) exists(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.PathExists(ctx, &v1beta1.PathExistsRequest{Path: path, Context: v1beta1.PathContext_POD})
	wantEmptyErrorField(f.t, answer.GetError())
	return answer.GetExists(), err
}

func (f filesystemV1beta1) mkdir(ctx context.Context, path string) error {
	answer, err := f.client.Mkdir(ctx, &v1beta1.MkdirRequest{Path: path, Context: v1beta1.PathContext_PLUGIN})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1beta1) rmdir(ctx context.Context, path string, force bool) error {
	answer, err := f.client.Rmdir(ctx, &v1beta1.RmdirRequest{Path: path, Force: force, Context: v1beta1.PathContext_POD})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1beta1) link(ctx context.Context, source, target string) error {
	answer, err := f.client.LinkPath(ctx, &v1beta1.LinkPathRequest{SourcePath: source, TargetPath: target})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1beta1) isLink(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.IsMountPoint(ctx, &v1beta1.IsMountPointRequest{Path: path})
	wantEmptyErrorField(f.t, answer.GetError())
	return answer.GetIsMountPoint(), err
}

type filesystemV1alpha1 struct {
	t      *testing.T
	client v1alpha1.FilesystemClient
}

func (f filesystemV1alpha1) exists(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.PathExists(ctx, &v1alpha1.PathExistsRequest{Path: path, Context: v1alpha1.PathContext_POD})
	wantEmptyErrorField(f.t, answer.GetError())
	return answer.GetExists(), err
}

func (f filesystemV1alpha1) mkdir(ctx context.Context, path string) error {
	answer, err := f.client.Mkdir(ctx, &v1alpha1.MkdirRequest{Path: path, Context: v1alpha1.PathContext_PLUGIN})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1alpha1) rmdir(ctx context.Context, path string, force bool) error {
	answer, err := f.client.Rmdir(ctx, &v1alpha1.RmdirRequest{Path: path, Force: force, Context: v1alpha1.PathContext_POD})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1alpha1) link(ctx context.Context, source, target string) error {
	answer, err := f.client.LinkPath(ctx, &v1alpha1.LinkPathRequest{SourcePath: source, TargetPath: target})
	wantEmptyErrorField(f.t, answer.GetError())
	return err
}

func (f filesystemV1alpha1) isLink(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.IsMountPoint(ctx, &v1alpha1.IsMountPointRequest{Path: path})
	wantEmptyErrorField(f.t, answer.GetError())
	return answer.GetIsMountPoint(), err
}

func wantEmptyErrorField(t *testing.T, text string) {
	t.Helper()
	if text != "" {
		t.Errorf("the answer's error field says %q, drivers rely on its being empty", text)
	}
}
