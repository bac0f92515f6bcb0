package tools

import (
	"reflect"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// capability is one thing that an agent can do, and how well.
type capability struct {
	name    string
	support core.Support
}

// capabilitiesOf lists the capabilities in the order of core's struct. What a
// provider does not speak of it cannot do.
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

// withAllSupport writes every capability out.
func withAllSupport(c core.Capabilities) core.Capabilities {
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(string(supportOf(core.Support(v.Field(i).String()))))
	}
	return c
}

// capabilityNames gives the names of those that are supported so.
func capabilityNames(c core.Capabilities, how core.Support) []string {
	var names []string
	for _, x := range capabilitiesOf(c) {
		if x.support == how {
			names = append(names, x.name)
		}
	}
	return names
}
