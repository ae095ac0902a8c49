package emulator

// random is a splitmix64 stream: small, fast, and the same on every machine.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
type random uint64

// newRandom seeds a stream from everything its values may depend on.
func newRandom(seed int64, parts ...int) *random {
	r := random(seed)
	for _, p := range parts {
		r = random(r.next() ^ uint64(p)*0x9e3779b97f4a7c15)
	}
	return &r
}

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns 0 <= x < n.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// between returns lo <= x <= hi.
func (r *random) between(lo, hi int) int { return lo + r.below(hi-lo+1) }

// token returns n characters of [a-z0-9], the first a letter.
func (r *random) token(n int) string {
	const chars = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = chars[r.below(len(chars))]
	}
	b[0] = chars[r.below(26)]
	return string(b)
}
