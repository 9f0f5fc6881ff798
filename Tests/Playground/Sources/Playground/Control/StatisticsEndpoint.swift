/// `GET /playground/statistics` shows the counters, `DELETE` sets them to zero.
struct StatisticsEndpoint: Endpoint {
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    if request.method == "DELETE" { statistics.reset() }
    return Reply(json: statistics.snapshot.json, headers: [("cache-control", "no-store")])
  }
}
