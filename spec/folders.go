package spec

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"path"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// TaskFile says more of a task that is a folder. It stands in that folder, and workspaces leave it out: it may hold the
// target.
const TaskFile = "task.yaml"

// folderNodes are where the folders of tasks are named.
func (t *Tasks) folderNodes() []*source.Node {
	n := t.Node.Get("folders")
	if n == nil || n.Kind == source.List {
		return fileNodes(n)
	}
	return []*source.Node{n}
}

// folderRows are the folders that are tasks.
func (d *Document) folderRows() iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		nodes := d.Suite.Tasks.folderNodes()
		for i, reference := range d.Suite.Tasks.Folders {
			found, err := d.taskFolders(reference)
			if err != nil && !yield(row{}, faultOf(nodes[i], err)) {
				return
			}
			for _, file := range found {
				object := expr.NewObject(2)
				object.Set("folder", file.taskFolder)
				object.Set("name", path.Base(file.taskFolder))
				if !yield(row{dataFile: file, value: object, n: 1}, nil) {
					return
				}
			}
		}
	}
}

// taskFolders are the folders that a path or pattern names.
func (d *Document) taskFolders(reference string) (files []*dataFile, err error) {
	at, err := d.roots.resolve(d.folder, reference)
	if err != nil {
		return nil, err
	}
	found, err := at.folder.match(at.path, true)
	root := reference[:len(reference)-len(at.path)]
	for _, name := range found {
		file := newDataFile(at.folder, path.Join(name, TaskFile))
		file.name, file.taskFolder = at.folder.name(name), root+name
		files = append(files, file)
	}
	return files, err
}

// ofFolder makes a task of a folder: what the mapping says, and its task.yaml, which has the last word.
func (t *Tasks) ofFolder(r row) (*Task, error) {
	task, err := t.mappedTask(r)
	if err != nil {
		return nil, err
	}
	if t.ID == nil {
		task.ID = path.Base(r.taskFolder)
	}
	task.Folder = r.taskFolder
	task.Vars = withKey(task.Vars, "repo", r.taskFolder)
	more, err := r.taskFile()
	if err != nil || more == nil {
		return task, err
	}
	own := more.task(0)
	task.ID = cmp.Or(more.ID, task.ID)
	task.Input = cmp.Or(own.Input, task.Input)
	task.Target = cmp.Or(own.Target, task.Target)
	if own.Images != nil {
		task.Images = own.Images
	}
	for _, of := range more.Vars {
		task.Vars = withKey(task.Vars, of.Key, valueOf(of.Value))
	}
	for _, of := range more.Metadata {
		task.Metadata = withKey(task.Metadata, of.Key, valueOf(of.Value))
	}
	return task, nil
}

// taskFile reads what a folder says of its task; nil where it says nothing.
func (f *dataFile) taskFile() (*InlineTask, error) {
	if !f.says() {
		return nil, nil
	}
	name := f.folder.name(f.path)
	text, err := f.folder.content(f.path, maxSpecBytes)
	if err != nil {
		return nil, faultOfFile(name, err)
	}
	tree, faults := source.Parse(source.NewFile(name, text))
	if tree == nil || faults.Err() != nil {
		return nil, faults
	}
	task := &InlineTask{}
	faults = source.Decode(tree, task)
	if repo := tree.Get("vars").Get("repo"); repo != nil {
		faults = append(faults, repo.Fault("delete it, or give it another name", "vars.repo is the folder of this task"))
	}
	if faults.Err() != nil {
		return nil, faults
	}
	return task, nil
}

// says reports whether the folder of a task has a task.yaml.
func (f *dataFile) says() (there bool) {
	_ = f.folder.walk(func(fsys fs.FS) error {
		_, err := fs.Lstat(fsys, f.path)
		there = !errors.Is(err, fs.ErrNotExist)
		return nil
	})
	return there
}

// checkFolders wants folders behind what folders names, and nothing that is said of files.
func (l *loader) checkFolders(t *Tasks) {
	for i, n := range t.folderNodes() {
		if l.opt.Recorded != nil {
			break // copies have the tasks, not the folders
		}
		if i >= len(t.Folders) || t.Folders[i] == "" {
			continue // it has a fault of its own
		}
		at, err := l.roots.resolve(l.doc.folder, t.Folders[i])
		if err == nil {
			_, err = at.folder.match(at.path, true)
		}
		if err != nil {
			l.fileFault(n, err)
		}
	}
	if t.Node.Get("folders") == nil {
		return
	}
	if repo := t.Node.Get("vars").Get("repo"); repo != nil {
		l.fault(repo, "delete it, or give it another name", "vars.repo is the folder of each task")
	}
}
