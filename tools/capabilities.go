package tools

import (
	"reflect"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// capability is one capability of an agent and how well it is supported.
type capability struct {
	name    string
	support core.Support
}

// capabilitiesOf returns the capabilities in the order of core's struct. One
// that a provider does not mention is unsupported.
func capabilitiesOf(c core.Capabilities) []capability {
	v := reflect.ValueOf(c)
	out := make([]capability, v.NumField())
	for i := range out {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		out[i] = capability{name, supportOf(core.Support(v.Field(i).String()))}
	}
	return out
}

func supportOf(s core.Support) core.Support {
	if s == "" {
		return core.Unsupported
	}
	return s
}

// withAllSupport returns c with every empty capability set to unsupported.
func withAllSupport(c core.Capabilities) core.Capabilities {
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(string(supportOf(core.Support(v.Field(i).String()))))
	}
	return c
}

// capabilityNames returns the names of the capabilities with the given support.
func capabilityNames(c core.Capabilities, how core.Support) []string {
	var names []string
	for _, x := range capabilitiesOf(c) {
		if x.support == how {
			names = append(names, x.name)
		}
	}
	return names
}
