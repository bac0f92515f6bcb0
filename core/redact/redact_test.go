package redact

import (
	"slices"
	"strings"
	"testing"
)

// Keys that look real and are not.
const (
	anthropicKey = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	githubToken  = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	jwt          = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLW9mLW5vdGhpbmc"
	pemKey       = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAabcdefghijkl\nABCDEFGHIJKLMNOPQRSTUV==\n-----END RSA PRIVATE KEY-----"
)

func TestRedactorKnowsKeysByTheirShape(t *testing.T) {
	r := New(nil)
	for _, tt := range []struct{ name, in, want string }{
		{"anthropic", "key=" + anthropicKey + "; next", "key=[redacted]; next"},
		{"openai project", `"sk-proj-abCD1234efGH5678ijKL"`, `"[redacted]"`},
		{"github classic", "x " + githubToken + "\n", "x [redacted]\n"},
		{"github in a URL", "https://x-access-token:ghs_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789@github.com/a/b", "https://x-access-token:[redacted]@github.com/a/b"},
		{"github fine-grained", "github_pat_11ABCDEFG0aBcDeFgHiJkL_mnopqrstuvwx", "[redacted]"},
		{"slack", "xoxb-123456789012-abcdefABCDEF", "[redacted]"},
		{"aws id", "id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."},
		{"google", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]"},
		{"npm", "//registry/:_authToken=npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "//registry/:_authToken=[redacted]"},
		{"jwt", "t " + jwt + " t", "t [redacted] t"},
		{"bearer", "Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted]"},
		{"bearer, any case", "authorization: bEARER a1b2c3d4'", "authorization: bEARER [redacted]'"},
		{"bearer of a known shape", "Bearer " + jwt, "Bearer [redacted]"},
		{"private key", "a\n" + pemKey + "\nb", "a\n[redacted]\nb"},
		{"private key in a literal", strings.ReplaceAll(`"`+pemKey+`",`, "\n", `\n`), `"[redacted]",`},
		{"private key in JSON in JSON", strings.ReplaceAll(pemKey, "\n", `\\n`) + `\\n"`, `[redacted]\\n"`},
		{"private key in a diff", "+" + strings.ReplaceAll(pemKey, "\n", "\n+") + "\n+x", "+[redacted]\n+x"},
		{"private key cut short", strings.SplitAfter(pemKey, "Aabc")[0] + " (cut)", "[redacted](cut)"},
		{"after an escape", `line\n` + githubToken + `\n`, `line\n[redacted]\n`},

		{"a prefix alone", "ghp_ and sk- and AKIA and eyJ and -----BEGIN RSA PRIVATE KEY-----", ""},
		{"a package name", "import sk-learn-based-classification-model", ""},
		{"inside a word", "disk-usage-0123456789ABCDEF", ""},
		{"English", "bearer authentication, Bearer tokens, the bearer of this", ""},
		{"JSON in base64", "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpb", ""},
		{"a header in code", `if strings.Contains(s, "-----BEGIN PRIVATE KEY-----") {`, ""},
		{"a certificate", strings.ReplaceAll(pemKey, "RSA PRIVATE KEY", "CERTIFICATE"), ""},
		{"a rule", "------------------------ | ----- | -----", ""},
		{"an npm variable", "npm_config_registry=http://127.0.0.1:4873/ npm_lifecycle_script", ""},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			if got := r.String(tt.in); got != want {
				t.Errorf("String(%q)\n got %q\nwant %q", tt.in, got, want)
			}
		})
	}
}

func TestRedactorFindsKnownValues(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", maxSecret/8)
	r := New([]string{
		"hunter2-hunter2", "hunter2-hunter2-longer", "  trimmed-value\n", "short", "overlap-one-two", "two-three-four",
		"quote\"and\nline", "redacted", long, "with space and: signs|", "sunshine",
	})
	for _, tt := range []struct{ name, in, want string }{
		{"an ordinary word, also where it is none", "the sunshine of DB_PASSWORD=sunshine", "the [redacted] of DB_PASSWORD=[redacted]"},
		{"anywhere in a word", "xhunter2-hunter2y", "x[redacted]y"},
		{"the longest wins", "hunter2-hunter2-longer", "[redacted]"},
		{"nearly the longest", "hunter2-hunter2-longe", "[redacted]-longe"},
		{"trimmed", "<trimmed-value>", "<[redacted]>"},
		{"too short a value", "short", "short"},
		{"overlapping", "overlap-one-two-three-four.", "[redacted]."},
		{"side by side", "hunter2-hunter2hunter2-hunter2", "[redacted]"},
		{"as it is", "a quote\"and\nline b", "a [redacted] b"},
		{"as JSON spells it", `{"v":"quote\"and\nline"}`, `{"v":"[redacted]"}`},
		{"the mark itself", "redacted [redacted]", "redacted [redacted]"},
		{"as a bearer token", "Bearer with space and: signs|!", "Bearer [redacted]!"},
		{"at the end of a key", anthropicKey + "with space and: signs|!", "[redacted]!"},
		{"in pieces", "<" + long + ">", "<[redacted]>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestSecretNameGoesByWholeWords(t *testing.T) {
	for _, name := range []string{
		"password", "PASSWORD", "db_password", "dbPassword", "Authorization", "proxy-authorization", "x-api-key", "apiKey", "APIKey",
		"OPENAI_API_KEY", "apikey", "OPENAI_API_KEY_2", "GITHUB_TOKEN", "access_token", "accessToken", "oauth2Token", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "private_key", "privateKey", "clientSecret", "secret", "secrets", "Cookie", "set-cookie", "cookies",
		"credentials", "credential", "passphrase", "API_TOKENS", "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "secretKeyBase", "signing_key",
	} {
		if !SecretName(name) {
			t.Errorf("%q is not taken for secret", name)
		}
	}
	for _, name := range []string{
		"", "total_tokens", "totalTokens", "max_token", "max_output_tokens", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "tokens", "token_count",
		"tokenUsage", "token_limit", "isSecret", "is_secret", "hasPassword", "requiresToken", "tokenizer", "TOKENIZERS_PARALLELISM",
		"secretary", "key", "keys", "keyboard", "PWD", "OLDPWD", "pass", "tests_pass", "token_file", "PASSWORD_STORE_DIR",
		"GOOGLE_APPLICATION_CREDENTIALS_PATH", "token_type", "AWS_ACCESS_KEY_ID", "token_url", "cookiecutter", "author", "public_key", "SSH_AUTH_SOCK",
	} {
		if SecretName(name) {
			t.Errorf("%q is taken for secret", name)
		}
	}
}

func TestSecretsOfReadsAnEnvironment(t *testing.T) {
	got := SecretsOf([]string{"PATH=/usr/bin:/bin", "OPENAI_API_KEY=dummy-key-1", "TOKEN=short", "MAX_TOKENS=100000000", "BROKEN", "DB_PASSWORD=a=b=c=d=e"})
	if want := []string{"dummy-key-1", "a=b=c=d=e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValuesOfVariablesThatVendorsKeepSecretsInAreKnown(t *testing.T) {
	for _, name := range strings.Fields(`AZURE_DEVOPS_EXT_PAT GITHUB_PAT AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING
		AZURE_OPENAI_KEY OPENAI_KEY STRIPE_KEY DD_APP_KEY NEW_RELIC_LICENSE_KEY SUPABASE_SERVICE_ROLE_KEY
		RABBITMQ_DEFAULT_PASS NEO4J_AUTH MONGO_PASS SENTRY_DSN SSH_KEY SLACK_WEBHOOK_URL MYAPP_PWD JWT_KEY
		consumer_key RESTIC_PASSWORD API_KEY DB_PASS`) {
		if got := SecretsOf([]string{name + "=a-long-value"}); len(got) != 1 {
			t.Errorf("the value of %s is not taken for a secret", name)
		}
	}
	for _, name := range strings.Fields(`PWD OLDPWD KEY SSH_AUTH_SOCK PATH HOME PUBLIC_KEY MONKEY BYPASS WEBHOOK_PORT
		DATABASE_URL_FILE CONNECTION_TIMEOUT KEYBOARD_LAYOUT`) {
		if got := SecretsOf([]string{name + "=a-long-value"}); len(got) != 0 {
			t.Errorf("the value of %s is taken for a secret", name)
		}
	}
}
