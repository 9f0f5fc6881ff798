import Support

/// Asks about one batch: splits what is refused as a whole, repeats what may be repeated, and ends with a verdict for each resource.
struct DecisionRun {
  /// The pause before the second try; it doubles.
  private static let firstPause = Duration.milliseconds(100)

  let point: DecisionPoint
  let link: DecisionLink
  /// The question; its resources are replaced.
  let question: DecisionBatch

  /// One verdict for each of `resources`, in their order.
  func verdicts(about resources: [ResourceName]) async -> [DecisionVerdict] {
    var verdicts: [DecisionVerdict] = []
    var pending = Array(resources.indices)
    var pause = Self.firstPause
    for attempt in 1...max(1, point.settings.attempts) {
      var splits = Self.splits(for: pending.count)
      let answers = await ask(pending.map { resources[$0] }, &splits)
      if attempt == 1 {
        verdicts = answers
      } else {
        for (place, verdict) in zip(pending, answers) { verdicts[place] = verdict }
      }
      var wait: Duration?
      pending = pending.filter { place in
        guard case .fault(let fault) = verdicts[place], case .after(let asked) = fault.retry else { return false }
        wait = max(wait ?? .zero, asked ?? pause)
        return true
      }
      guard let wait, attempt < point.settings.attempts,
        link.deadline.remaining(on: link.clock).map({ wait < $0 }) ?? true
      else { break }
      guard (try? await link.clock.sleep(for: wait)) != nil else { break }
      pause = pause * 2
    }
    return verdicts
  }

  /// How many batches may be split: enough to find two culprits, too few to ask about each resource of a decision point that refuses
  /// everything.
  private static func splits(for count: Int) -> Int {
    var splits = 2
    var size = count
    while size > 1 {
      splits += 2
      size /= 2
    }
    return splits
  }

  private func ask(_ resources: [ResourceName], _ splits: inout Int) async -> [DecisionVerdict] {
    var batch = question
    batch.resources = resources
    do throws(DecisionFault) {
      let answers = try await point.provider.evaluate(batch, over: link)
      // No word of any of them: with some decision points one that they do not know makes them silent about all.
      let isSilent = resources.count > 1 && answers.allSatisfy { $0 == nil }
      guard answers.count == resources.count, !isSilent else {
        throw DecisionFault.format("the answer does not speak of the resources", remedy: .split)
      }
      return answers.map { $0 ?? .fault(.item("the answer does not speak of this resource")) }
    } catch {
      if error.remedy == .shrink { point.learn(tooMany: resources.count) }
      guard error.remedy != .none, resources.count > 1, splits > 0, !Task.isCancelled else {
        return resources.map { _ in .fault(error) }
      }
      splits -= 1
      let middle = resources.count / 2
      let first = await ask(Array(resources[..<middle]), &splits)
      return first + (await ask(Array(resources[middle...]), &splits))
    }
  }
}
