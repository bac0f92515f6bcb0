package wire

import "encoding/json"

// ConfigReadParams asks for the configuration as it is for a directory.
type ConfigReadParams struct {
	IncludeLayers bool   `json:"includeLayers"`
	CWD           string `json:"cwd,omitempty"`
}

// ConfigReadResponse is the configuration as a whole, and the layers that it is
// made of.
type ConfigReadResponse struct {
	Config map[string]json.RawMessage `json:"config"`
	Layers []ConfigLayer              `json:"layers"`
}

// ConfigLayer is one source of configuration.
type ConfigLayer struct {
	Name   ConfigLayerSource          `json:"name"`
	Config map[string]json.RawMessage `json:"config"`
}

// ConfigLayerSource is where a layer comes from: the fields of all kinds.
type ConfigLayerSource struct {
	Type           string `json:"type"`
	File           string `json:"file"`
	DotCodexFolder string `json:"dotCodexFolder"`
	Name           string `json:"name"`
}

// RequirementsResponse is what an administrator demands.
type RequirementsResponse struct {
	Requirements map[string]json.RawMessage `json:"requirements"`
}

// SkillsRootsParams names directories in which skills are looked for.
type SkillsRootsParams struct {
	ExtraRoots []string `json:"extraRoots"`
}
