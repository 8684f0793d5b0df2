from benchmarks.field.cases import main

main()
