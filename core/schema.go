package core

import "encoding/json"

// SchemaCheck returns the reason why a document does not meet a JSON schema or,
// for a nil document, why the schema is not a valid one. It depends on its
// arguments alone and may be called concurrently.
type SchemaCheck func(schema, doc json.RawMessage) error
