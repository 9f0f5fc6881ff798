/// Metrics of journeys and fetches that wait for users.
package enum AdviceMetrics {
  /// The families.
  package static func exposition(journeys: Int, fetches: Int) -> String {
    func family(_ name: String, _ help: String, _ value: Int) -> String {
      var family = MetricFamily(name, .gauge, help)
      family.sample([], value)
      return family.text
    }
    return family("postern_journeys_waiting", "Logins at access managers that wait between their steps.", journeys)
      + family("postern_fetches_stopped", "Fetches that wait for policy advice to be satisfied.", fetches)
  }
}
