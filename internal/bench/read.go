package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

const pageEvents = 1000

// splice writes an event as JSON around its stored data.
func splice(b *bytes.Buffer, seq uint64, kind string, data []byte) {
	b.WriteString(`{"seq":`)
	b.WriteString(strconv.FormatUint(seq, 10))
	b.WriteString(`,"type":"`)
	b.WriteString(kind)
	b.WriteString(`","data":`)
	b.Write(data)
	b.WriteString("},")
}

// large reads pages of a journal of a million events in a thousand sessions.
func large(ctx context.Context, dir string) ([]row, error) {
	path, sessions := filepath.Join(dir, "large.db"), max(1, *events/pageEvents)
	if err := writeLarge(ctx, path, sessions); err != nil {
		return nil, err
	}
	// The reference writes and reads in a process of its own.
	ref := exec.CommandContext(ctx, os.Args[0], "reference", filepath.Join(dir, "reference.db"), fmt.Sprint(sessions))
	ref.Stderr = os.Stderr
	text, err := ref.Output()
	if err != nil {
		return nil, err
	}
	var theirs []time.Duration
	if err := json.Unmarshal(text, &theirs); err != nil {
		return nil, err
	}
	var opened []time.Duration
	for range *rounds {
		begin := time.Now()
		s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Durability: sqlitestore.Full})
		if err != nil {
			return nil, err
		}
		if err := readPage(ctx, s, rand.IntN(sessions)); err != nil {
			return nil, err
		}
		opened = append(opened, time.Since(begin))
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Durability: sqlitestore.Full})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var ours []time.Duration
	for range 100 {
		begin := time.Now()
		if err := readPage(ctx, s, rand.IntN(sessions)); err != nil {
			return nil, err
		}
		ours = append(ours, time.Since(begin))
	}
	mine, his := quantile(ours, 0.5), quantile(theirs, 0.5)
	n := fmt.Sprint(sessions * pageEvents)
	return []row{
		{"a page of 1,000 events of a journal of " + n + ", JSON included", ms(mine), "at most 2 ms"},
		{"the same / mattn/go-sqlite3 through database/sql", fmt.Sprintf("%.2f; %s / %s", float64(mine)/float64(his), ms(mine), ms(his)), "at most 0.5"},
		{"opening a journal of " + n + " to its first page", ms(quantile(opened, 0.5)), "at most 50 ms"},
	}, nil
}

func writeLarge(ctx context.Context, path string, sessions int) (err error) {
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Durability: sqlitestore.Normal})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	const batch = 50
	for from := 0; from < sessions; from += 64 { // together, so that their events lie among each other's
		err := sideBySide(min(64, sessions-from), func(i int) error {
			id := fmt.Sprint("s", from+i)
			if err := s.Commit(ctx, session(id)); err != nil {
				return err
			}
			for seq := uint64(0); seq < pageEvents; seq += batch {
				if err := s.Commit(ctx, further(id, seq, batch)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Pack(ctx); err != nil {
			return err
		}
	}
	return nil
}

func readPage(ctx context.Context, s *sqlitestore.Store, n int) error {
	page, err := s.Events(ctx, core.EventQuery{Owner: owner, Resource: fmt.Sprint("s", n), Limit: pageEvents})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range page {
		splice(&b, e.Seq, string(e.Type), e.Data)
	}
	if len(page) != pageEvents {
		return fmt.Errorf("a page has %d events", len(page))
	}
	return nil
}

// reference does the same with a plain clustered table, for comparison, and
// prints how long each page took.
func reference(args []string) (err error) {
	sessions, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", "file:"+args[0]+"?_journal_mode=WAL&_synchronous=NORMAL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec("PRAGMA page_size = 8192; CREATE TABLE event (s INTEGER, seq INTEGER, id TEXT, type TEXT, turn TEXT, at INTEGER, data BLOB, PRIMARY KEY (s, seq)) WITHOUT ROWID"); err != nil {
		return err
	}
	for from := 0; from < sessions; from += 64 {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		put, err := tx.Prepare("INSERT INTO event VALUES (?, ?, ?, 'message_delta', 'trn_0123456789', ?, ?)")
		if err != nil {
			return err
		}
		for s := from; s < min(from+64, sessions); s++ {
			for seq := range uint64(pageEvents) {
				if _, err := put.Exec(s, seq+1, core.NewEventID(), time.Now().UnixNano(), []byte(payload(seq))); err != nil {
					return err
				}
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	get, err := db.Prepare("SELECT seq, id, type, turn, at, data FROM event WHERE s = ? AND seq > 0 ORDER BY seq LIMIT ?")
	if err != nil {
		return err
	}
	var took []time.Duration
	for range 100 {
		begin := time.Now()
		rows, err := get.Query(rand.IntN(sessions), pageEvents)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		for rows.Next() {
			var seq uint64
			var id, kind, turn string
			var at int64
			var data []byte
			if err := rows.Scan(&seq, &id, &kind, &turn, &at, &data); err != nil {
				return err
			}
			splice(&b, seq, kind, data)
		}
		if err := rows.Close(); err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	text, err := json.Marshal(took)
	fmt.Println(strings.TrimSpace(string(text)))
	return err
}
