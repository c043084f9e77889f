// Package page decides how a page of tables becomes bytes: in which formats, for
// people or for machines, and with which footnotes.
//
// A Page is anything that has tables, warnings and checks, for example a report or
// a comparison. Its tables hold cells, which know their number, its text and what
// warns of it; Write puts them into one of the Formats (writeTerminal and its
// siblings, one file each). A new format asks the page for nothing else, and a new
// page needs nothing in the formats.
//
// Texts from outside, for example names, are marked as such, and no format lets
// them be obeyed: by a terminal, a browser, a spreadsheet, a reader of Markdown or
// a runner of CI.
package page
