package keys

// A Set of hashes, by open addressing.
type Set struct {
	slots []uint64 // 0: free
	mask  uint64
	zero  bool // whether 0 is in the set
}

func (s *Set) reset(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size > len(s.slots) {
		s.slots = make([]uint64, size)
	}
	clear(s.slots[:size])
	s.mask, s.zero = uint64(size-1), false
}

// count adds hashes, and counts those that were there.
func (s *Set) count(hashes []uint64) (n int64) {
	for _, h := range hashes {
		if s.has(h) {
			n++
		}
	}
	return n
}

// has adds a hash, and tells whether it was there.
func (s *Set) has(h uint64) bool {
	if h == 0 {
		was := s.zero
		s.zero = true
		return was
	}
	for i := h & s.mask; ; i = (i + 1) & s.mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = h
			return false
		case h:
			return true
		}
	}
}
