package facts

// Random is a splitmix64 stream: small, fast, and the same on every machine.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
type Random uint64

// NewRandom seeds a stream from everything its values may depend on.
func NewRandom(seed int64, parts ...int) *Random {
	r := Random(seed)
	for _, p := range parts {
		r = Random(r.Next() ^ uint64(p)*0x9e3779b97f4a7c15)
	}
	return &r
}

// streamOf seeds a stream from a text and a number that tells it from others of the same text.
func streamOf(seed int64, kind int, text string) *Random {
	parts := []int{kind}
	for _, b := range []byte(text) {
		parts = append(parts, int(b))
	}
	return NewRandom(seed, parts...)
}

// Next returns the stream's next 64 bits.
func (r *Random) Next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns 0 <= x < n.
func (r *Random) Below(n int) int { return int(r.Next() % uint64(n)) }

// Between returns lo <= x <= hi.
func (r *Random) Between(lo, hi int) int { return lo + r.Below(hi-lo+1) }

// Token returns n characters of [a-z0-9], the first a letter.
func (r *Random) Token(n int) string {
	const chars = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = chars[r.Below(len(chars))]
	}
	b[0] = chars[r.Below(26)]
	return string(b)
}
