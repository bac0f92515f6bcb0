package process

import (
	"slices"
	"strings"
)

// Environ builds a child's environment as sorted NAME=value.
//
// By default it is base without the variables by which an agent CLI recognises
// a parent ([NestingVars]) and without unset, overlaid with overlay. With
// replace, base is not used at all. What overlay gives always arrives, also a
// name that is in unset or in NestingVars; only [MarkerVar] is the harness's own
// and is set when the command starts.
func Environ(base []string, overlay map[string]string, unset []string, replace bool) []string {
	vars := make(map[string]string, len(base)+len(overlay))
	if !replace {
		for _, kv := range base {
			name, value, ok := strings.Cut(kv, "=")
			if ok && name != "" && !Nesting(name) && !slices.Contains(unset, name) {
				vars[name] = value
			}
		}
	}
	for name, value := range overlay {
		vars[name] = value
	}
	delete(vars, MarkerVar)
	out := make([]string, 0, len(vars))
	for name, value := range vars {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// AddPath returns env with directories added behind those of its PATH, each
// once. A program found in such a directory often needs a sibling (a script's
// interpreter), which it looks for in PATH.
func AddPath(env []string, dirs ...string) []string {
	list := splitPath(lookup(env, "PATH"))
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PATH=") {
			out = append(out, kv)
		}
	}
	if len(list) > 0 {
		out = append(out, "PATH="+joinPath(list))
	}
	return out
}
