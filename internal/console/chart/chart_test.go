package chart

import "testing"

func TestDraw(t *testing.T) {
	p := Draw([]Bar{
		{Value: 50, Before: 50}, {Value: 100, Before: 80, Open: true}, {Hole: true, Value: 7}, {Value: 0, Before: 0},
		{Value: 0.001, Before: 0.001}, {Value: 25, Before: 10, New: true},
	})
	want := Picture{
		Width: 60, Final: "M2 100V50h6V100zM42 100V99h6V100zM52 100V75h6V100z", Open: "M12 100V0h6V100z",
		Before: "M10 100V20h10V100z", Holes: "M20 0V100h10V0z",
		High: 100,
	}
	if p != want {
		t.Errorf("drawn is %+v", p)
	}
}

func TestDrawBelowZero(t *testing.T) {
	p := Draw([]Bar{{Value: -20, Before: -20}, {Value: 60, Before: -40}})
	want := Picture{Width: 20, Final: "M2 60V80h6V60zM12 60V0h6V60z", Before: "M10 60V100h10V60z", Low: -40, High: 60}
	if p != want {
		t.Errorf("drawn is %+v", p)
	}
	if p := Draw(nil); p != (Picture{}) {
		t.Errorf("of nothing %+v is drawn", p)
	}
	if p := Draw([]Bar{{}}); p.Final != "" || p.Low != p.High {
		t.Errorf("of 0 %+v is drawn", p)
	}
}
