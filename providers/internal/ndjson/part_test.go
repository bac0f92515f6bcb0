package ndjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAPartIsASliceOfTheLine(t *testing.T) {
	type message struct {
		Null Part `json:"null"`
		Body Part `json:"body"`
		List []struct {
			Deep Part `json:"deep"`
		} `json:"list"`
	}
	read := func(line string) (m message) {
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := read(`{"null":null, "body" : {"a": "\u0001", "b":[1, 2]} ,"list":[{"deep":"x"},{"deep":-1}]}`)
	for range 100 { // what the decoder reuses would change it
		read(`{"body":"` + strings.Repeat("y", 200) + `"}`)
	}
	if string(m.Body) != `{"a": "\u0001", "b":[1, 2]}` || string(m.Null) != "null" || string(m.List[0].Deep) != `"x"` || string(m.List[1].Deep) != "-1" {
		t.Errorf("%s %s %s", m.Body, m.Null, m.List)
	}
	if line := []byte(`{"body":[7]}`); json.Unmarshal(line, &m) != nil || cap(m.Body) != len(m.Body) || &m.Body[0] != &line[len(`{"body":`)] {
		t.Error("it is not a piece of the line, or more than its own")
	}
}
