package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
)

// Server and guard are the same executable, so their protocol has no version. The
// server sends one order and then single bytes; the guard sends reports of a fixed
// size.

// Commands of the server to its guard, a byte each.
const (
	cmdInterrupt = 'I'
	cmdTerminate = 'T'
	cmdKill      = 'K'
)

// groupSignals are the commands for a signal to the command's group.
var groupSignals = map[byte]syscall.Signal{
	'i': syscall.SIGINT, 'q': syscall.SIGQUIT, 't': syscall.SIGTERM, 'h': syscall.SIGHUP, '1': syscall.SIGUSR1, '2': syscall.SIGUSR2,
}

// order is the command that a guard executes.
type order struct {
	path, dir string
	args, env []string
	terminal  bool // its stdio is a terminal, which becomes its controlling terminal
}

// orderTerminal marks an order with a terminal, in front of the number of its
// arguments.
const orderTerminal = "t"

var errOrder = errors.New("broken order")

// encode returns the order as a frame: a big-endian length of 4 bytes, then its
// texts, each ended by NUL, which none of them can contain. A frame is at most
// maxFrame bytes.
func (o order) encode() ([]byte, error) {
	n := strconv.Itoa(len(o.args))
	if o.terminal {
		n = orderTerminal + n
	}
	texts := append([]string{o.path, o.dir, n}, o.args...)
	texts = append(texts, o.env...)
	b := make([]byte, 4)
	for _, t := range texts {
		b = append(append(b, t...), 0)
	}
	if len(b) > maxFrame {
		return nil, fmt.Errorf("an order of %d bytes", len(b))
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

// readOrder reads a frame of encode.
func readOrder(r io.Reader) (order, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return order{}, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return order{}, errOrder
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return order{}, err
	}
	return parseOrder(b)
}

func parseOrder(b []byte) (order, error) {
	var texts []string
	for len(b) > 0 {
		text, rest, ok := bytes.Cut(b, []byte{0})
		if !ok {
			return order{}, errOrder
		}
		texts, b = append(texts, string(text)), rest
	}
	if len(texts) < 3 {
		return order{}, errOrder
	}
	count, terminal := strings.CutPrefix(texts[2], orderTerminal)
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > len(texts)-3 {
		return order{}, errOrder
	}
	return order{path: texts[0], dir: texts[1], args: texts[3 : 3+n], env: texts[3+n:], terminal: terminal}, nil
}

// Kinds of report.
const (
	// repStarted: the command runs; a is its pid, b its start time.
	repStarted = 'S'
	// repFailed: the command could not be executed; a is the errno.
	repFailed = 'F'
	// repExited: the command ended; a is its wait status, b the number of
	// descendants that are alive.
	repExited = 'X'
	// repEmpty: nothing of the tree is left.
	repEmpty = 'E'
)

// reportSize is the size of an encoded report.
const reportSize = 1 + 8 + 8

// report is a message of a guard. The meaning of a and b depends on kind.
type report struct {
	kind byte
	a, b uint64
}

func (r report) encode() []byte {
	b := append(make([]byte, 0, reportSize), r.kind)
	b = binary.BigEndian.AppendUint64(b, r.a)
	return binary.BigEndian.AppendUint64(b, r.b)
}

func readReport(r io.Reader) (report, error) {
	var b [reportSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return report{}, err
	}
	return report{b[0], binary.BigEndian.Uint64(b[1:9]), binary.BigEndian.Uint64(b[9:])}, nil
}
