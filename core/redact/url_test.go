package redact

import (
	"fmt"
	"strings"
	"testing"
)

func TestThePasswordOfAURLIsTakenOut(t *testing.T) {
	r := New([]string{"hunter2-hunter2"})
	for in, want := range map[string]string{
		"git clone https://me:s3cret@host/x.git": "git clone https://me:[redacted]@host/x.git",
		"redis://:pw@127.0.0.1:6379/0 up":        "redis://:[redacted]@127.0.0.1:6379/0 up",
		"postgres://u:p@ss:w0rd@db/x":            "postgres://u:[redacted]@db/x",
		`{"url":"amqp://u:p%40x@q"}`:             `{"url":"amqp://u:[redacted]@q"}`,
		"https://u:p@h":                          "https://u:[redacted]@h",
		"(https://a:b@h), https://c:d@h":         "(https://a:[redacted]@h), https://c:[redacted]@h",
		"https://hunter2-hunter2:x@h":            "https://[redacted]@h",
		// What is none.
		"https://host:8080/a@b":                        "https://host:8080/a@b",
		"https://me@host/":                             "https://me@host/",
		"https://host:8080 me@host":                    "https://host:8080 me@host",
		"https://h/?q=a:b@c":                           "https://h/?q=a:b@c",
		"ssh://git@host:22/x":                          "ssh://git@host:22/x",
		"http://[::1]:80/":                             "http://[::1]:80/",
		"https://user:@host":                           "https://user:@host",
		"C://a:b":                                      "C://a:b",
		"https://" + strings.Repeat("a", 700) + ":b@c": "https://" + strings.Repeat("a", 700) + ":b@c",
	} {
		if got := r.String(in); got != want {
			t.Errorf("%s gives %s, want %s", in, got, want)
		}
		if got := r.String(want); got != want {
			t.Errorf("%s is changed again: %s", want, got)
		}
		for cut := range len(in) {
			f := r.TextFilter()
			if got := f.Write([]byte(in[:cut])) + f.Write([]byte(in[cut:])) + f.Flush(); got != want {
				t.Errorf("%s cut at %d gives %s", in, cut, got)
			}
		}
	}
	if f := r.TextFilter(); f.Write([]byte("see https://host/path for more")) != "see https://host/path for more" {
		t.Error("an ordinary URL is held back")
	}
}

func TestMetadataIsKeptWithoutSecrets(t *testing.T) {
	r := New([]string{"hunter2-hunter2"})
	given := map[string]string{"repo": "https://me:s3cret@host/x", "api_key": "abc", "note": "hunter2-hunter2", "ticket": "A-1", "token": ""}
	want := map[string]string{"repo": "https://me:[redacted]@host/x", "api_key": Redacted, "note": Redacted, "ticket": "A-1", "token": ""}
	if got := r.Metadata(given); fmt.Sprint(got) != fmt.Sprint(want) || given["api_key"] != "abc" {
		t.Errorf("%v", got)
	}
	if r.Metadata(nil) != nil {
		t.Error("there is none")
	}
}
