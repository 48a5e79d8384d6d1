package sanity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// whole are the services whose cases all have to run, but for those of optional calls.
var whole = []string{"Identity Service", "Node Service"}

// optional are csi-sanity's reasons to skip a case of an optional call.
var optional = []string{
	"NodeGetStorageHealth not supported",
	"NodeGetVolumeHealth not supported",
}

// leastPassed is how many of csi-sanity's cases pass, as docs/cluster.md says, unless WINCSI_LEAST_PASSED has another number.
const leastPassed = 53

// cases counts those that ended, and those that passed.
type cases struct{ ended, passed int }

// reportCases has each case of csi-sanity printed as `go test -v` prints a subtest, and returns where they are counted.
func reportCases(t *testing.T) *cases {
	counted := new(cases)
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		counted.ended++
		if report.State == types.SpecStatePassed {
			counted.passed++
		}
		name := strings.ReplaceAll(report.FullText(), " ", "_")
		// Ginkgo's own mark has no end of its line.
		fmt.Printf("\n%s: %s/%02d_%s\n%s\n", ending(report), t.Name(), counted.ended, name, report.FailureMessage())
	})
	return counted
}

func ending(report ginkgo.SpecReport) string {
	switch {
	case report.State == types.SpecStatePassed:
		return "--- PASS"
	case report.State.Is(types.SpecStateSkipped|types.SpecStatePending) && mayBeLeftOut(report):
		return "counted: 1 cases not run (its reason is below)"
	default:
		return "--- FAIL"
	}
}

func mayBeLeftOut(report ginkgo.SpecReport) bool {
	isWhole := slices.Contains(whole, report.ContainerHierarchyTexts[0])
	return !isWhole || slices.Contains(optional, report.FailureMessage())
}

func TestACaseThatHasToRunFailsWhenItIsLeftOut(t *testing.T) {
	skipped := func(service, why string) string {
		report := ginkgo.SpecReport{State: types.SpecStateSkipped, ContainerHierarchyTexts: []string{service}}
		report.Failure.Message = why
		return ending(report)
	}
	if got := skipped("Node Service", "NodeStageVolume not supported"); got != "--- FAIL" {
		t.Errorf("a case of the node: %s", got)
	}
	for service, why := range map[string]string{"Node Service": optional[0], "Controller Service": "no lists"} {
		if got := skipped(service, why); !strings.HasPrefix(got, "counted: 1 ") {
			t.Errorf("a case of the %s: %s", service, got)
		}
	}
	panicked := ginkgo.SpecReport{State: types.SpecStatePanicked}
	if got := ending(panicked); got != "--- FAIL" {
		t.Errorf("a case that panicked: %s", got)
	}
}
