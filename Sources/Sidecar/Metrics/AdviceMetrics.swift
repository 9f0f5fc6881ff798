/// What waits for users to do something, in the Prometheus sense.
enum AdviceMetrics {
  /// The families.
  static func exposition(journeys: Int, fetches: Int) -> String {
    func family(_ name: String, _ help: String, _ value: Int) -> String {
      var family = MetricFamily(name, .gauge, help)
      family.sample([], value)
      return family.text
    }
    return family("postern_journeys_waiting", "Logins at access managers that wait between their steps.", journeys)
      + family("postern_fetches_stopped", "Fetches that wait for policy advice to be satisfied.", fetches)
  }
}
