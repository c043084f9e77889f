package compare

import "github.com/agentbench/agentbench/reports/stats"

// Line compares both sides in one quantity. Numbers that are not known are NaN.
type Line struct {
	Quantity
	// Paired says that runs of the same task and trial were compared; else all
	// runs of one side with all of the other.
	Paired bool
	// Test names the procedure that P is of, Method says how it came about.
	Test   Test
	Method stats.Method
	// Tasks is how many tasks were compared, BaseTasks those of the base side: as
	// many where they are paired.
	Tasks, BaseTasks int
	// Runs is how many pairs of runs were compared, LeftOut how many had no value
	// on a side and were left out. Where tasks are not paired they are runs of
	// either side.
	Runs, LeftOut int
	// Base and New are the means of the tasks' means over what was compared.
	Base, New float64
	// Change is New - Base, or, where Relative, the geometric mean of the tasks'
	// ratios, less 1. Low and High are the ends of its 95 % interval.
	Change, Low, High float64
	Relative          bool
	// P is two-sided. Adjusted is P corrected for the comparisons made at once;
	// verdicts are by it.
	P, Adjusted float64
	// Wins are tasks at which the new side is better, Losses those at which it is
	// worse, Ties those at which both are equal to 1e-9. All are 0 where not
	// paired.
	Wins, Losses, Ties int
	// Binary says that it is a score, and all values compared are 0 or 1.
	Binary bool

	Verdict Verdict
	// Margin is the smallest change that matters, in the unit of Change.
	Margin float64
	// NotWorse says that the interval shows the new side to be worse by less than
	// Margin, if at all: non-inferiority. What is better or the same is not worse.
	NotWorse bool
	// Needed is how many tasks it would take to show, with a power of 0.8, a
	// change of the size seen; 0 where the change is shown or nothing is known,
	// Beyond where it is more than a million.
	Needed int
	// TooFew says that with so few tasks that differ, Differing and not Fewest, no
	// outcome could have been shown at alpha. Where the tasks have clusters, these
	// are what is counted.
	TooFew            bool
	Differing, Fewest int
	// Clusters is how many clusters the tasks compared are in, BaseClusters those
	// of the base side; 0: every task is its own. ClustersNeeded is Needed in
	// clusters of the present size.
	Clusters, BaseClusters int
	ClustersNeeded         int
	// Contrary says that the test shows a difference, and another way than the
	// change, as ranks may beside a mean: then nothing is better or worse.
	Contrary bool
	// Missing says why there is nothing to compare; "" where there is.
	Missing string

	// Sequential is nil unless it was asked for, and of amounts.
	Sequential *Sequential

	// Flips are the tasks whose mean of a binary score changed, those that got
	// worse first, then by how much. They are of paired lines only.
	Flips []Flip

	needed float64 // as Needed and TooFew, whatever the verdict; not rounded
	tooFew bool
	// contrary is as Contrary, whether the test shows anything or not.
	contrary bool
}

// clustered says that tasks depend on each other.
func (l *Line) clustered() bool { return l.Clusters > 0 }

// Flip is a task whose success changed.
type Flip struct {
	Task      string
	Base, New float64 // means over the runs paired
	// BaseAt and NewAt are the numbers of the task in Side.Tasks.
	BaseAt, NewAt int32
}

// Test is a procedure that gives a p value.
type Test string

// The Tests.
const (
	McNemar     Test = "mcnemar"      // exact, of binary scores of one trial
	SignFlip    Test = "sign_flip"    // of the tasks' differences or log ratios
	Student     Test = "t"            // the same, of more than 2,000 that are not 0
	Welch       Test = "welch"        // of tasks that are not paired
	MannWhitney Test = "mann_whitney" // the same, of amounts without clusters
)

// Verdict is what a line says.
type Verdict string

// The Verdicts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Same       Verdict = "same" // within the margin
	CannotTell Verdict = "cannot_tell"
)

// Beyond is Needed where more than a million tasks are needed.
const Beyond = -1
