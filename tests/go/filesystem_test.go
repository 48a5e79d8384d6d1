package clients

import (
	"context"
	"strings"
	"testing"
)

// folderContents is what came with v2alpha1.
type folderContents interface {
	empty(ctx context.Context, path string) error
}

// lifeOfAFolder makes folders and a link, and removes them, each seen past the server, too.
func lifeOfAFolder(t *testing.T, files filesystem) {
	ctx := deadline(t)
	path := freshPath(t)
	folder, link := path+`\folder`, path+`\link`
	must(t, "Mkdir", files.mkdir(ctx, folder+`\inner`))
	wantExists(t, files, folder+`\inner`, true)
	wantFolder(t, onDriveC(t, folder+`\inner`), true)

	must(t, "link", files.link(ctx, folder, link))
	wantLink(t, files, link, true)
	wantLink(t, files, folder, false)
	wantExists(t, files, link+`\inner`, true)
	must(t, "Rmdir of the link", files.rmdir(ctx, link, false))
	wantExists(t, files, link, false)
	if contents, ok := files.(folderContents); ok {
		must(t, "RmdirContents", contents.empty(ctx, folder))
		wantFolder(t, onDriveC(t, folder), true)
		wantFolder(t, onDriveC(t, folder+`\inner`), false)
	}
	must(t, "Rmdir with force", files.rmdir(ctx, path, true))
	wantExists(t, files, path, false)
	wantFolder(t, onDriveC(t, path), false)
}

// eachFilesystem runs a test against every version of the group.
func eachFilesystem(t *testing.T, test func(*testing.T, filesystem)) {
	kubelet(t)
	eachVersion(t, "filesystem", filesystems, test)
}

func wantExists(t *testing.T, files filesystem, path string, want bool) {
	t.Helper()
	got, err := files.exists(deadline(t), path)
	must(t, "PathExists of "+path, err)
	if got != want {
		t.Errorf("PathExists of %s: %v, want %v", path, got, want)
	}
}

func TestMkdirMakesAPathThatRmdirRemoves(t *testing.T) {
	eachFilesystem(t, func(t *testing.T, files filesystem) {
		path := freshPath(t)
		ctx := deadline(t)
		wantExists(t, files, path, false)
		must(t, "Mkdir with parents", files.mkdir(ctx, path+`\parent\child`))
		wantExists(t, files, path+`\parent\child`, true)
		must(t, "Mkdir of a folder that is there", files.mkdir(ctx, path))

		must(t, "Rmdir of an empty folder", files.rmdir(ctx, path+`\parent\child`, false))
		wantExists(t, files, path+`\parent\child`, false)
		wantExists(t, files, path+`\parent`, true)
	})
}

func TestRmdirSparesAFullFolderUnlessForced(t *testing.T) {
	eachFilesystem(t, func(t *testing.T, files filesystem) {
		path := freshPath(t)
		ctx := deadline(t)
		must(t, "Mkdir", files.mkdir(ctx, path+`\child`))

		wantRefusal(t, "Rmdir of a full folder", files.rmdir(ctx, path, false), "remove "+path+": ")
		wantExists(t, files, path+`\child`, true)
		must(t, "Rmdir with force", files.rmdir(ctx, path, true))
		wantExists(t, files, path, false)
		must(t, "Rmdir with force of nothing", files.rmdir(ctx, path, true))
	})
}

// democratic-csi reads this text of Windows as "there was nothing to remove".
func TestRmdirOfNothingSaysThatNothingIsThere(t *testing.T) {
	eachFilesystem(t, func(t *testing.T, files filesystem) {
		err := files.rmdir(deadline(t), freshPath(t), false)
		wantRefusal(t, "Rmdir of nothing", err, "The system cannot find the file specified")
	})
}

func TestPathsAreRefusedInWordsThatDriversKnow(t *testing.T) {
	root := kubelet(t)
	long := root + `\` + strings.Repeat("a", 300)
	cases := map[string]struct{ path, text string }{
		"outside":      {`C:\Windows`, `path: C:\Windows is not within the working directories: [`},
		"relative":     {`relative`, "not an absolute Windows path: relative"},
		"empty":        {"", "not an absolute Windows path: "},
		"rooted":       {`\var\lib`, `invalid character \ at beginning of path: \var\lib`},
		"parent":       {root + `\..\x`, "path contains invalid characters: " + root + `\..\x`},
		"wildcard":     {root + `\*`, "path contains invalid characters: " + root + `\*`},
		"forward":      {`C:/var/lib/kubelet`, "path contains invalid characters: C:/var/lib/kubelet"},
		"alternate":    {root + `\a:b`, "path contains invalid characters: " + root + `\a:b`},
		"over-long":    {long, "exceeds maximum characters: 260"},
		"not-a-drive":  {`1:\var`, `path contains invalid characters: 1:\var`},
		"unc-in-drive": {`\\server\share`, `invalid character \ at beginning of path: \\server\share`},
	}
	eachFilesystem(t, func(t *testing.T, files filesystem) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				ctx := deadline(t)
				_, err := files.exists(ctx, c.path)
				wantRefusal(t, "PathExists", err, c.text)
				wantRefusal(t, "Mkdir", files.mkdir(ctx, c.path), c.text)
				wantRefusal(t, "Rmdir", files.rmdir(ctx, c.path, true), c.text)
				wantRefusal(t, "link target", files.link(ctx, root, c.path), c.text)
			})
		}
	})
}

func TestIsLinkOfFoldersAndOfNothing(t *testing.T) {
	eachFilesystem(t, func(t *testing.T, files filesystem) {
		path := freshPath(t)
		ctx := deadline(t)
		if _, err := files.isLink(ctx, path); err == nil {
			t.Error("a path that is not there is an error, got none")
		}
		must(t, "Mkdir", files.mkdir(ctx, path))
		if is, err := files.isLink(ctx, path); err != nil || is {
			t.Errorf("a plain folder: %v, %v, want false", is, err)
		}
	})
}

// Not on the files of Wine, whose CreateSymbolicLinkW reports success and makes nothing. That each
// version can make and read links shows in lifeOfAFolder.
func TestALinkLeadsToItsSourceUntilThatIsGone(t *testing.T) {
	path := freshPath(t)
	files := filesystemV1{dialFilesystemV1(t)}
	source, link := path+`\source`, path+`\link`
	ctx := deadline(t)
	must(t, "Mkdir", files.mkdir(ctx, source+`\inside`))
	must(t, "link", files.link(ctx, source, link))
	wantLink(t, files, link, true)
	must(t, "the same link again", files.link(ctx, source, link))
	other := files.link(ctx, path, link)
	wantRefusal(t, "another link of that name", other, "symlink "+path+" "+link+": ")
	wantLink(t, files, link, true)

	must(t, "Rmdir with force of the link", files.rmdir(ctx, link, true))
	wantExists(t, files, link, false)
	wantExists(t, files, source+`\inside`, true)

	must(t, "link again", files.link(ctx, source, link))
	must(t, "Rmdir with force of the source", files.rmdir(ctx, source, true))
	wantLink(t, files, link, false)
	wantExists(t, files, link, true)
}

func wantLink(t *testing.T, files filesystem, path string, want bool) {
	t.Helper()
	got, err := files.isLink(deadline(t), path)
	must(t, "IsSymlink of "+path, err)
	if got != want {
		t.Errorf("IsSymlink of %s: %v, want %v", path, got, want)
	}
}
