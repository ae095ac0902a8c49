// Package chart draws the numbers of periods as bars. Without it a table of numbers would be all
// there is, and nobody would see the day that is half of the others.
//
//	bars ─ Draw ─▶ paths, one for each kind of bar, that a page puts into an SVG and a style sheet colours
//
// A period is ten units wide, and the whole is a hundred high, so that a browser stretches it as it
// likes.
package chart

import (
	"math"
	"strconv"
)

// A Bar is the number of one period.
type Bar struct {
	Value  float64
	Before float64 // what it was earlier; the same when it hasn't moved
	Hole   bool    // there is no number, which isn't 0
	Open   bool    // it may still change
	New    bool    // there was no number earlier
}

// A Picture is a row of bars as paths of an SVG. An empty path has nothing to draw.
type Picture struct {
	Width int // of the view, whose height is 100

	Final, Open string // the numbers, by whether they may still change
	Before      string // the earlier values of numbers that have moved: wider bars, to be drawn behind
	Holes       string // bars over the whole height, where there is no number

	Low, High float64 // what the lower and the upper edge stand for; 0 is always between them
}

// Draw draws bars from left to right.
func Draw(bars []Bar) Picture {
	p := Picture{Width: 10 * len(bars)}
	for _, b := range bars {
		if !b.Hole {
			p.Low, p.High = min(p.Low, b.Value), max(p.High, b.Value)
			if !b.New {
				p.Low, p.High = min(p.Low, b.Before), max(p.High, b.Before)
			}
		}
	}
	var final, open, before, holes []byte
	for i, b := range bars {
		x := 10 * i
		switch {
		case b.Hole:
			holes = rect(holes, x, 10, 0, 100)
			continue
		case !b.New && b.Before != b.Value:
			before = p.bar(before, x, 10, b.Before)
		}
		if b.Open {
			open = p.bar(open, x+2, 6, b.Value)
		} else {
			final = p.bar(final, x+2, 6, b.Value)
		}
	}
	p.Final, p.Open, p.Before, p.Holes = string(final), string(open), string(before), string(holes)
	return p
}

// bar adds a bar between 0 and a value to a path. A value other than 0 can be seen, however small
// it is.
func (p Picture) bar(path []byte, x, wide int, value float64) []byte {
	if value == 0 {
		return path
	}
	zero, end := p.height(0), p.height(value)
	if math.Abs(end-zero) < 1 {
		end = zero - math.Copysign(1, value)
	}
	return rect(path, x, wide, zero, end)
}

// height returns where a value is drawn, counted from the top.
func (p Picture) height(value float64) float64 {
	if p.High == p.Low {
		return 100
	}
	return 100 * (p.High - value) / (p.High - p.Low)
}

// rect adds a rectangle between two heights to a path.
func rect(path []byte, x, wide int, from, to float64) []byte {
	path = strconv.AppendInt(append(path, 'M'), int64(x), 10)
	path = strconv.AppendFloat(append(path, ' '), round(from), 'f', -1, 64)
	path = strconv.AppendFloat(append(path, 'V'), round(to), 'f', -1, 64)
	path = strconv.AppendInt(append(path, 'h'), int64(wide), 10)
	path = strconv.AppendFloat(append(path, 'V'), round(from), 'f', -1, 64)
	return append(path, 'z')
}

func round(v float64) float64 { return math.Round(10*v) / 10 }
