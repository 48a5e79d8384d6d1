// Prints what csi-driver-smb's own functions make of a volume's name, source and subDir, and what they read in handles.
// They are not exported, so this file is compiled in a copy of their package: ./record does that.
package smb

import (
	"encoding/json"
	"os"
	"testing"
)

// Names, sources and folders of volumes. The share is the one of our tests.
var volumes = [][3]string{
	{"pvc-1", "//127.0.0.1/encrypted", ""},
	{"pvc-2", "//127.0.0.1/encrypted", "data"},
	{"pvc-3", "//127.0.0.1/encrypted/", "data"},
	{"pvc-4", "//127.0.0.1/encrypted//", "//team/a b//"},
	{"pvc-5", "//127.0.0.1/encrypted/team", "x/y z"},
	{"pvc-6", `\\127.0.0.1\encrypted`, "data"},
	{"pvc-7", `\\127.0.0.1\encrypted\`, `team\data\`},
	{"pvc-8", "127.0.0.1/encrypted", `team\data`},
	{"Pvc 9", "//127.0.0.1/Encrypted", "Ä €"},
	{"pvc-10", "//127.0.0.1/encrypted", "/"},
	{"pvc-11", "//127.0.0.1/encrypted", "a#b"},
	{"pvc-12", "", "data"},
}

var handles = []string{
	"", "a", "a/b",
	"a/b#", "a/b#x", "a#x", "#x", "//a/b#x", `\\a\b#x`,
	"a/b#x#", "a/b#x#n", "a/b##n", "/a/b#x#n", "a/b/#x#n", "a/b/c#x/y z#n", "a/b#/x/#n", `a\b#x\y#n`, "a/b#..#n", "a/b# x #n",
	"a/b#x##", "a/b#x#n#", "a/b#x#n#archive", "a/b#x##retain", "a/b##n#",
	"a/b#x#n##", "a/b#x#y#n#archive",
}

func TestHandles(t *testing.T) {
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	show := func(line map[string]string, err error) {
		if err != nil {
			line["error"] = err.Error()
		}
		if err := lines.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range volumes {
		line := map[string]string{"name": one[0], "source": one[1], "subDir": one[2]}
		class := map[string]string{"source": one[1]}
		if one[2] != "" {
			class["subDir"] = one[2]
		}
		volume, err := newSMBVolume(one[0], 1<<30, class)
		if err == nil {
			line["makes"] = getVolumeIDFromSmbVol(volume)
		}
		show(line, err)
	}
	for _, handle := range handles {
		line := map[string]string{"reads": handle}
		volume, err := getSmbVolFromID(handle)
		if err == nil {
			line["source"], line["subDir"], line["name"] = volume.source, volume.subDir, volume.uuid
		}
		show(line, err)
	}
}
