package clients

import (
	"testing"
)

func TestTwoClientsAtATimeStageTheirOwnVolumes(t *testing.T) {
	kubelet(t)
	for _, name := range []string{"one", "the other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lifeOfAVolume(t, volumeV1{dialVolumeV1(t)})
		})
	}
}

// A driver's pod is replaced while its volumes are in use. Each subtest closes its client as it ends.
func TestAClientThatStartsAnewFindsItsVolumeMounted(t *testing.T) {
	kubelet(t)
	drive := plug(t, gib)
	var l *lun
	first := t.Run("the first client", func(t *testing.T) {
		l = partitionedDisk(t, drive, volumeV1{dialVolumeV1(t)})
		l.stage(t)
	})
	if !first {
		return
	}
	t.Run("the next client", func(t *testing.T) {
		l.volumes = volumeV1{dialVolumeV1(t)}
		l.files = filesystemV1{dialFilesystemV1(t)}
		l.wantMounted(t)
		ctx := deadline(t)
		must(t, "MountVolume again", l.volumes.mount(ctx, l.volume, l.target))
		must(t, "UnmountVolume", l.volumes.unmount(ctx, l.volume, l.target))
		l.wantInside(t, false)
		must(t, "MountVolume after UnmountVolume", l.volumes.mount(ctx, l.volume, l.target))
		l.wantInside(t, true)
		l.unmount(t)
	})
}
