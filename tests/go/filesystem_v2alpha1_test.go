//go:build v2alpha1

package clients

import (
	"context"
	"testing"

	v2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
)

func init() {
	filesystems["v2alpha1"] = func(t *testing.T) filesystem {
		return filesystemV2alpha1{dialFilesystemV2alpha1(t)}
	}
	rpcsOfTheClient += 6
}

type filesystemV2alpha1 struct{ client v2alpha1.FilesystemClient }

func (f filesystemV2alpha1) exists(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.PathExists(ctx, &v2alpha1.PathExistsRequest{Path: path})
	return answer.GetExists(), err
}

func (f filesystemV2alpha1) mkdir(ctx context.Context, path string) error {
	_, err := f.client.Mkdir(ctx, &v2alpha1.MkdirRequest{Path: path})
	return err
}

func (f filesystemV2alpha1) rmdir(ctx context.Context, path string, force bool) error {
	_, err := f.client.Rmdir(ctx, &v2alpha1.RmdirRequest{Path: path, Force: force})
	return err
}

func (f filesystemV2alpha1) link(ctx context.Context, source, target string) error {
	_, err := f.client.CreateSymlink(ctx, &v2alpha1.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (f filesystemV2alpha1) isLink(ctx context.Context, path string) (bool, error) {
	answer, err := f.client.IsSymlink(ctx, &v2alpha1.IsSymlinkRequest{Path: path})
	return answer.GetIsSymlink(), err
}

func (f filesystemV2alpha1) empty(ctx context.Context, path string) error {
	return done(f.client.RmdirContents(ctx, &v2alpha1.RmdirContentsRequest{Path: path}))
}

func TestRmdirContentsEmptiesAndKeepsTheFolder(t *testing.T) {
	root := freshPath(t)
	files := filesystemV2alpha1{dialFilesystemV2alpha1(t)}
	ctx := deadline(t)
	must(t, "Mkdir", files.mkdir(ctx, root+`\a\b`))
	must(t, "Mkdir", files.mkdir(ctx, root+`\c`))

	must(t, "RmdirContents", files.empty(ctx, root))

	wantExists(t, files, root, true)
	wantExists(t, files, root+`\a`, false)
	wantExists(t, files, root+`\c`, false)
	must(t, "Rmdir of the emptied folder", files.rmdir(ctx, root, false))
	if files.empty(ctx, root) == nil {
		t.Error("RmdirContents of a missing folder succeeded")
	}
}
