// Hosts reads the configuration of an image and prints, for hosts of some builds of Windows, whether containerd's matcher
// takes the image there.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/containerd/platforms"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var image specs.Image
	if err := json.Unmarshal(text, &image); err != nil {
		log.Fatal(err)
	}
	for _, build := range os.Args[2:] {
		host := specs.Platform{OS: "windows", Architecture: "amd64", OSVersion: "10.0." + build + ".1"}
		fmt.Printf("%s %t\n", build, platforms.Only(host).Match(image.Platform))
	}
}
