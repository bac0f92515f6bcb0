// Package schema checks JSON documents against JSON schemas. It fetches
// nothing: a schema that refers to another document is refused.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxReasons is how many failures an error names.
const maxReasons = 3

// Check returns an error if doc does not match schema, or, for a nil doc, if schema is
// no valid schema. It is a pure function and safe for concurrent use.
func Check(schema, doc json.RawMessage) error {
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closed{})
	if err := c.AddResource("mem:schema", s); err != nil {
		return err
	}
	compiled, err := c.Compile("mem:schema")
	if err != nil {
		return oneLine(err)
	}
	if doc == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	return reasons(compiled.Validate(v))
}

// closed loads nothing.
type closed struct{}

// Load refuses every document.
func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and nothing is fetched", url)
}

// reasons makes one line of the failures that say most.
func reasons(err error) error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	var leaves []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			msg := e.BasicOutput().Error
			if msg == nil && len(e.BasicOutput().Errors) > 0 {
				msg = e.BasicOutput().Errors[0].Error
			}
			text := e.Error()
			if msg != nil {
				text = msg.String()
			}
			leaves = append(leaves, "/"+strings.Join(e.InstanceLocation, "/")+": "+text)
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(v)
	if len(leaves) > maxReasons {
		leaves = append(leaves[:maxReasons], fmt.Sprintf("and %d more", len(leaves)-maxReasons))
	}
	return errors.New(strings.Join(leaves, "; "))
}

func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
