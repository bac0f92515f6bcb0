package transport

import "testing"

func TestAnIDThatIsNoUTF8IsRefusedAndNotEchoed(t *testing.T) {
	for id, valid := range map[string]bool{
		"\"a\xff\xfe\"": false, "\"\\ud800\"": true, "\"\u00e9\"": true, "7": true, "null": true, "true": false,
	} {
		e, refused := decodeEnvelope([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		if (refused == nil) != valid {
			t.Errorf("id %q: %v, want valid %v (%+v)", id, refused, valid, e)
		}
	}
}
