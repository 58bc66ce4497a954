// SPDX-License-Identifier: Apache-2.0

// Two agents sell a seat each: without an ETag one sale is lost, with If-Match it is not.
package main

import (
	"encoding/json"
	"fmt"
)

var plain = headers{"Content-Type": "application/json", "Accept": "application/json;odata=nometadata"}

type flight struct {
	service
	path string
}

// read returns how many seats are free, and the ETag of that moment.
func (f flight) read() (int, string) {
	answer := f.send("GET", f.path, "", plain)
	var entity struct {
		Free int `json:"free"`
	}
	must(json.Unmarshal([]byte(answer.body), &entity))
	return entity.Free, answer.header.Get("ETag")
}

// write replaces the entity if the ETag is current; "*" means whatever is there.
func (f flight) write(free int, etag string) string {
	return f.send("PUT", f.path, fmt.Sprintf(`{"free":%d}`, free), headers{"Content-Type": "application/json", "If-Match": etag}).outcome
}

func (f flight) expectFree(what string, expected int) {
	free, _ := f.read()
	expect(what, fmt.Sprint(free), fmt.Sprint(expected))
}

func main() {
	tables := newService("Table")
	name := newName("seats")
	entity := func(free int) string {
		return fmt.Sprintf(`{"PartitionKey":"flight","RowKey":"lh400","free":%d}`, free)
	}
	expect("the table", tables.send("POST", "/Tables", fmt.Sprintf(`{"TableName":%q}`, name), plain).outcome, "201")
	expect("the flight", tables.send("POST", "/"+name, entity(10), plain).outcome, "201")
	seats := flight{tables, "/" + name + "(PartitionKey='flight',RowKey='lh400')"}

	// The problem: both have read 10.
	ann, _ := seats.read()
	bob, _ := seats.read()
	seats.write(ann-1, "*")
	seats.write(bob-1, "*")
	seats.expectFree("10 - 1 - 1 with If-Match: *", 9)

	// The cure: write only if nobody has written since.
	ann, annsTag := seats.read()
	bob, bobsTag := seats.read()
	expect("Ann's update", seats.write(ann-1, annsTag), "204")
	expect("Bob's update with his old ETag", seats.write(bob-1, bobsTag), "412 UpdateConditionNotSatisfied")
	bob, bobsTag = seats.read()
	expect("Bob's update after he read again", seats.write(bob-1, bobsTag), "204")
	seats.expectFree("9 - 1 - 1 with ETags", 7)
	expect("an insert where there is one", tables.send("POST", "/"+name, entity(1), plain).outcome, "409 EntityAlreadyExists")
	tables.send("DELETE", "/Tables('"+name+"')", "", plain)
}
