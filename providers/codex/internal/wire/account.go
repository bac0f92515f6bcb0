package wire

// Methods about who pays.
const (
	AccountRead = "account/read"
	ConfigRead  = "config/read"
)

// AccountReadParams ask who is signed in.
type AccountReadParams struct {
	RefreshToken bool `json:"refreshToken,omitempty"`
}

// AccountReadResponse says who is signed in, if anybody.
type AccountReadResponse struct {
	Account *struct {
		Type string `json:"type"`
	} `json:"account"`
}

// ConfigReadParams ask for the configuration as a directory sees it.
type ConfigReadParams struct {
	CWD string `json:"cwd,omitempty"`
}
